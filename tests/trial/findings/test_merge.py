"""Static suspicions and what a trial found become one list: each case is one report, and what is made of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from exportlint.finding import Evidence, Finding, Link, Severity
from exportlint.trial.findings.merge import merge
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        y = x.data
        z = y + 1
        return z * 2
"""
GUARD = "Could not guard on data-dependent expression u0 > 0"
BOTH = {"non-strict": "refused", "strict": "refused"}
BY_EXPORT = {"non-strict": ("export",), "strict": ("export",)}


@pytest.fixture
def net(tmp_path: Path) -> str:
    (tmp_path / "net.py").write_text(SOURCE, "utf-8")
    return str(tmp_path / "net.py")


def suspicion(line: int, rule: str = "some-rule", **changes: object) -> Finding:
    found = Finding(
        rule, "net.py", line, 9, line, 20, Severity.WARNING, "the static message", effect=BOTH, shown_by=BY_EXPORT
    )
    return replace(found, **changes)  # type: ignore[arg-type]  # named by the caller


def refusal(net: str, line: int | None, text: str = "no idea") -> Observation:
    seen = Observation("exception", text, "builtins.RuntimeError")
    return seen.at([Frame(net, line, "forward", "")]) if line else seen


def report(net: str, *stages: StageResult, executed: set[int] | None = None) -> TargetReport:
    ladder = {stage.name: stage for stage in (*passed(), *stages)}
    return TargetReport("net.py", net, 4, tuple(ladder.values()), {net: frozenset(executed or {6, 7, 8})})


def passed() -> tuple[StageResult, ...]:
    names = ("load", "eager", "export-non-strict", "export-strict", "soundness")
    return tuple(StageResult(name, "passed") for name in names)


def refused(seen: Observation) -> tuple[StageResult, ...]:
    exports = (StageResult(f"export-{mode}", "refused", observations=(seen,)) for mode in ("non-strict", "strict"))
    return (*exports, StageResult("soundness", "skipped"))


def merged(net: str, tmp_path: Path, suspicions: list[Finding], *stages: StageResult, **more: object) -> list[Finding]:
    executed = more.pop("executed", None)
    return merge(suspicions, [report(net, *stages, executed=executed)], root=tmp_path, **more)  # type: ignore[arg-type]


def evidence(found: list[Finding]) -> list[tuple[str, int, str]]:
    return [(one.rule, one.line, one.evidence.value) for one in found]


@pytest.mark.parametrize(
    ("stages", "line", "expected"),
    [
        pytest.param((), 6, "cleared", id="the line ran in a target that exports and agrees"),
        pytest.param((), 3, "suspected", id="the line never ran"),
        pytest.param((StageResult("export-strict", "refused"),), 6, "cleared", id="the other mode refuses"),
        pytest.param((StageResult("export-non-strict", "refused"),), 6, "suspected", id="the chosen mode refuses"),
        pytest.param((StageResult("soundness", "crashed"),), 6, "suspected", id="nothing was compared"),
        pytest.param((StageResult("soundness", "skipped"),), 6, "suspected", id="the comparison was skipped"),
        pytest.param(
            (
                StageResult(
                    "soundness", "passed", observations=(Observation("note", details={"note": "eager-unstable"}),)
                ),
            ),
            6,
            "suspected",
            id="eager does not repeat itself",
        ),
    ],
)
def test_a_line_is_cleared_only_by_a_check_that_could_have_seen_it(
    net: str, tmp_path: Path, stages: tuple[StageResult, ...], line: int, expected: str
) -> None:
    assert evidence(merged(net, tmp_path, [suspicion(line)], *stages)) == [("some-rule", line, expected)]


def test_a_refusal_without_a_line_is_what_its_rule_suspects_of_the_call(net: str, tmp_path: Path) -> None:
    script = refusal(net, None, "Exporting a ScriptModule is not supported.")
    (met,) = merged(net, tmp_path, [suspicion(4, "export-of-non-module")], *refused(script))
    assert (met.evidence, met.line) == (Evidence.CONFIRMED, 4)
    assert "torch names no line" not in met.message
    apart = merged(net, tmp_path, [suspicion(2, "export-of-non-module")], *refused(script))
    assert {one.evidence for one in apart} == {Evidence.SUSPECTED, Evidence.DISCOVERED}


CHECKED = StageResult("soundness", "passed", data={"shown": {"non-strict": ["output", "state"]}})
WRITES = Observation("note", details={"note": "attribute-changed", "attribute": "global SEEN", "matters": False})


@pytest.mark.parametrize(
    ("kinds", "stages", "expected"),
    [
        pytest.param(("export",), (), "cleared", id="it would have been refused"),
        pytest.param(("state",), (CHECKED,), "cleared", id="a second call was compared"),
        pytest.param(("state",), (), "suspected", id="no second call was compared"),
        pytest.param(("output", "own-inputs"), (CHECKED,), "suspected", id="the target names no other inputs"),
        pytest.param(("save",), (StageResult("save-load", "passed"),), "cleared", id="it was saved"),
        pytest.param(
            ("save",), (StageResult("save-load", "refused"),), "suspected", id="the same trial cannot save it"
        ),
        pytest.param(("export", "other-device"), (CHECKED,), "suspected", id="the trial has one device"),
        pytest.param((), (CHECKED,), "cleared", id="torch does it right in this mode"),
        pytest.param(None, (CHECKED,), "suspected", id="nobody measured what shows it"),
    ],
)
def test_what_shows_the_harm_of_a_suspicion_must_have_run(
    net: str, tmp_path: Path, kinds: tuple[str, ...] | None, stages: tuple[StageResult, ...], expected: str
) -> None:
    shown_by = {} if kinds is None else {"non-strict": kinds, "strict": ("export",)}
    found = merged(net, tmp_path, [suspicion(6, shown_by=shown_by)], *stages)
    assert evidence(found) == [("some-rule", 6, expected)]


@pytest.mark.parametrize(
    ("repeated", "expected"),
    [
        pytest.param([6], "cleared", id="the line ran another number of times, and the program agreed"),
        pytest.param([7], "suspected", id="another line did"),
        pytest.param([], "suspected", id="only sizes moved that this line does not count"),
    ],
)
def test_a_loop_is_cleared_only_where_another_length_ran(
    net: str, tmp_path: Path, repeated: list[int], expected: str
) -> None:
    sizes = StageResult("dynamic-shapes", "passed", data={"repeated": {net: repeated}})
    kinds = {"non-strict": ("export", "other-length"), "strict": ("export",)}
    found = merged(net, tmp_path, [suspicion(6, shown_by=kinds)], sizes)
    assert evidence(found) == [("some-rule", 6, expected)]


@pytest.mark.parametrize(
    ("effect", "expected", "left"),
    [
        pytest.param({"non-strict": "refused", "strict": "exports"}, "cleared", None, id="only non-strict was at risk"),
        pytest.param({}, "suspected", {"non-strict": "exports"}, id="strict is still at risk"),
    ],
)
def test_clearing_goes_mode_by_mode(
    net: str, tmp_path: Path, effect: dict[str, str], expected: str, left: dict[str, str] | None
) -> None:
    """Strict refuses another line, so nothing is known of this one in strict."""
    strict = StageResult("export-strict", "refused")
    (found,) = merged(net, tmp_path, [replace(suspicion(6), effect=effect)], strict, mode="both")
    assert (found.evidence.value, found.effect) == (expected, left or effect)


def test_a_line_that_was_seen_to_change_a_global_is_not_cleared(net: str, tmp_path: Path) -> None:
    seen = WRITES.at([Frame(net, 6, "forward", "")])
    found = merged(net, tmp_path, [suspicion(6)], StageResult("eager", "passed", observations=(seen,)))
    assert ("some-rule", 6, "suspected") in evidence(found)


def test_in_both_modes_both_must_agree(net: str, tmp_path: Path) -> None:
    strict_refuses = StageResult("export-strict", "refused")
    found = merged(net, tmp_path, [suspicion(6)], strict_refuses, mode="both")
    assert evidence(found) == [("some-rule", 6, "suspected")]


def test_a_suspicion_on_the_refused_line_is_confirmed(net: str, tmp_path: Path) -> None:
    (met,) = merged(net, tmp_path, [suspicion(6)], *refused(refusal(net, 6)))
    assert (met.evidence, met.rule, met.target, met.stage) == (
        Evidence.CONFIRMED,
        "some-rule",
        "net.py",
        "export-non-strict",
    )
    assert met.message == snapshot("the static message; tried: RuntimeError: no idea (refused in either mode)")
    assert met.severity is Severity.ERROR, "the louder of both"
    assert met.effect == BOTH


def test_of_two_suspicions_on_a_line_the_one_that_knows_torchs_words_is_confirmed(net: str, tmp_path: Path) -> None:
    two = [suspicion(6, severity=Severity.ERROR), suspicion(6, "data-dependent-branch")]
    found = merged(net, tmp_path, two, *refused(refusal(net, 6, GUARD)))
    assert evidence(found) == [("data-dependent-branch", 6, "confirmed"), ("some-rule", 6, "suspected")]


def test_the_cause_may_stand_above_the_line_that_shows_it(net: str, tmp_path: Path) -> None:
    (met,) = merged(net, tmp_path, [suspicion(6)], *refused(refusal(net, 8)))
    assert met.evidence is Evidence.CONFIRMED
    assert "; tried (line 8): RuntimeError: no idea" in met.message


@pytest.mark.parametrize(
    ("body", "suspected", "seen", "confirmed"),
    [
        pytest.param("if asked(x):\n    return x * 2\nreturn x", 4, 5, True, id="in the branch"),
        pytest.param("if asked(x):\n    x = x * 2\nelse:\n    x = x + 1\nreturn x", 4, 7, True, id="in the other"),
        pytest.param("if asked(x):\n    return x * 2\nreturn x + 1", 4, 6, True, id="after a branch that leaves"),
        pytest.param("on = asked(x)\nif on:\n    return x * 2\nreturn x", 4, 6, True, id="by way of a name"),
        pytest.param("if asked(x):\n    print()\nreturn x + 1", 4, 6, False, id="after a branch that goes on"),
        pytest.param("if asked(x):\n    y = 1\nx = x + 1\nreturn x", 4, 6, False, id="beside it"),
    ],
)
def test_the_cause_may_be_what_decides_whether_a_line_runs(
    tmp_path: Path, body: str, suspected: int, seen: int, confirmed: bool
) -> None:
    net = tmp_path / "net.py"
    text = "\n".join(f"        {line}" for line in body.split("\n"))
    net.write_text(f"import torch\nclass Net(torch.nn.Module):\n    def forward(self, x):\n{text}\n", "utf-8")
    found = merged(str(net), tmp_path, [suspicion(suspected)], *refused(refusal(str(net), seen)))
    expected = [("some-rule", suspected, "confirmed")] if confirmed else [("some-rule", suspected, "suspected")]
    assert evidence(found)[:1] == expected


def test_a_rule_that_knows_torchs_words_is_not_taken_for_another_above(net: str, tmp_path: Path) -> None:
    found = merged(net, tmp_path, [suspicion(6)], *refused(refusal(net, 8, GUARD)))
    assert evidence(found) == [("some-rule", 6, "suspected"), ("data-dependent-branch", 8, "discovered")]


@pytest.mark.parametrize(
    ("suspicions", "expected"),
    [
        pytest.param([6], ["confirmed"], id="only one is suspected of it"),
        pytest.param([6, 7], ["suspected", "suspected", "discovered"], id="it may be either"),
        pytest.param([3], ["suspected", "discovered"], id="its line never ran"),
    ],
)
def test_where_torch_names_no_line(net: str, tmp_path: Path, suspicions: list[int], expected: list[str]) -> None:
    found = merged(net, tmp_path, [suspicion(line) for line in suspicions], *refused(refusal(net, None)))
    assert sorted(one.evidence.value for one in found) == sorted(expected)


def test_what_nobody_suspected_is_discovered_at_its_line(net: str, tmp_path: Path) -> None:
    (found,) = merged(net, tmp_path, [], *refused(refusal(net, 7)))
    assert evidence([found]) == [("trial-export-non-strict", 7, "discovered")]
    assert (found.path, found.column, found.end_column) == ("net.py", 9, len("        z = y + 1") + 1)


def test_the_same_failure_of_two_targets_is_one_finding(net: str, tmp_path: Path) -> None:
    one, other = (replace(report(net, *refused(refusal(net, 7))), name=name) for name in ("one", "other"))
    (found,) = merge([], [one, other], root=tmp_path)
    assert found.target == "one"


def test_a_cleared_suspicion_of_one_target_may_be_confirmed_by_another(net: str, tmp_path: Path) -> None:
    failing = replace(report(net, *refused(refusal(net, 6))), name="failing")
    (met,) = merge([suspicion(6)], [report(net), failing], root=tmp_path)
    assert (met.evidence, met.target) == (Evidence.CONFIRMED, "failing")


def test_a_break_of_the_graph_confirms_nothing_and_gives_its_page_to_the_refusal(net: str, tmp_path: Path) -> None:
    broken = Observation("graph-break", "Data-dependent branching", gb_id="GB0170").at([Frame(net, 6, "forward", "")])
    explain = StageResult("explain", "passed", observations=(broken,))
    (met,) = merged(net, tmp_path, [suspicion(6)], explain, *refused(refusal(net, 6)))
    assert [link.id for link in met.links if isinstance(link, Link)] == ["GB0170"]
    found = merged(net, tmp_path, [suspicion(6)], explain)
    assert {(one.rule, one.evidence.value) for one in found} >= {("some-rule", "cleared")}


def test_a_suspicion_about_a_target_of_deployment_is_confirmed_by_its_stage_alone(net: str, tmp_path: Path) -> None:
    of_target = suspicion(7, effect={}, shown_by={}, lowerings={"executorch": "refused"})
    failing = StageResult("lower-executorch", "refused", observations=(refusal(net, 7),))
    (found,) = merged(net, tmp_path, [of_target], failing)
    assert (found.evidence, found.stage) == (Evidence.CONFIRMED, "lower-executorch")
    other = StageResult("lower-tvm", "refused", observations=(refusal(net, 7),))
    assert {one[2] for one in evidence(merged(net, tmp_path, [of_target], other))} == {"suspected", "discovered"}
    exported = merged(net, tmp_path, [of_target], *refused(refusal(net, 7)))
    assert {one[2] for one in evidence(exported)} == {"suspected", "discovered"}


def test_it_is_cleared_where_every_target_that_it_names_ran(net: str, tmp_path: Path) -> None:
    of_two = suspicion(7, effect={}, shown_by={}, lowerings={"executorch": "refused", "tvm": "refused"})
    one, other = StageResult("lower-executorch", "passed"), StageResult("lower-tvm", "passed")
    assert evidence(merged(net, tmp_path, [of_two], one, other)) == [("some-rule", 7, "cleared")]
    assert evidence(merged(net, tmp_path, [of_two], one)) == [("some-rule", 7, "suspected")]
    assert evidence(merged(net, tmp_path, [of_two], one, other, executed={6})) == [("some-rule", 7, "suspected")]


def test_results_that_differ_on_a_target_are_not_cleared_by_inputs_with_which_they_do_not(
    net: str, tmp_path: Path
) -> None:
    lost = suspicion(7, effect={}, shown_by={}, lowerings={"tvm": "differs"})
    assert evidence(merged(net, tmp_path, [lost], StageResult("lower-tvm", "passed"))) == [
        ("some-rule", 7, "suspected")
    ]
