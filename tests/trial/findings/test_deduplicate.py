"""What the stages of one trial found, each thing once: a table of findings, and which of them are left."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from exportlint.finding import Link, Severity
from exportlint.trial.findings.deduplicate import findings_of, placed_later, without_repetitions
from exportlint.trial.findings.trial_finding import TrialFinding, united
from exportlint.trial.findings.wording.torch_messages import Words
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult, TargetReport
from exportlint.trial.protocol.stages import stage_named

if TYPE_CHECKING:
    from pathlib import Path

PAGE = Link("graph-break", "GB0170", "https://example.invalid")


def found(family: str, line: int = 6, stage: str = "export-strict", **changes: object) -> TrialFinding:
    severity = Severity.NOTE if family in {"graph-break", "warning"} else Severity.ERROR
    plain = TrialFinding(family, None, "net.py", line, "        x", severity, Words(family), "t", stage_named(stage))
    return replace(plain, **changes)  # type: ignore[arg-type]  # named by the caller


REFUSED = found("refused")
BREAK = found("graph-break", stage="explain", links=(PAGE,))
SUBMODULE = found("submodule", stage="submodules", within="the submodule `a` (A) is refused by itself with x")
WARNING = found("warning")
UNUSED = found("unused-input x", stage="soundness", severity=Severity.NOTE)
OUTPUT = found("output", stage="soundness")


@pytest.mark.parametrize(
    ("findings", "left"),
    [
        pytest.param([REFUSED, BREAK], ["refused"], id="a break at the refused line says nothing more"),
        pytest.param([REFUSED, replace(BREAK, line=9)], ["refused", "graph-break"], id="a break elsewhere does"),
        pytest.param([REFUSED, SUBMODULE], ["refused"], id="the submodule is refused at the same line"),
        pytest.param(
            [REFUSED, replace(SUBMODULE, line=9)], ["refused"], id="every refusal has a line: a submodule adds none"
        ),
        pytest.param(
            [replace(REFUSED, placed=False), replace(SUBMODULE, line=9)],
            ["refused", "submodule"],
            id="where torch names no line, the submodule's is the nearest",
        ),
        pytest.param([WARNING], [], id="a warning where nothing failed"),
        pytest.param([REFUSED, WARNING], ["refused"], id="a warning of a program that nobody gets"),
        pytest.param([OUTPUT, WARNING], ["output"], id="a warning beside a difference, which says it better"),
        pytest.param([UNUSED], [], id="an unused input where nothing failed"),
        pytest.param([REFUSED, UNUSED], ["refused", "unused-input x"], id="an unused input beside a failure"),
        pytest.param(
            [OUTPUT, found("output", stage="lower-executorch")], ["output"], id="a lowering differs as the program did"
        ),
        pytest.param(
            [found("output", stage="lower-executorch")], ["output"], id="a lowering differs from a right program"
        ),
        pytest.param(
            [found("baked", stage="soundness"), found("frozen", stage="soundness", placed=False)],
            ["baked"],
            id="a value of the moment is why eager gives others at every call",
        ),
        pytest.param([found("frozen", stage="soundness", placed=False)], ["frozen"], id="nobody knows why"),
        pytest.param(
            [found("static-dim", stage="soundness"), found("raises", stage="soundness", about_a_size=True)],
            ["static-dim"],
            id="the other inputs have another size, and torch raises about it",
        ),
    ],
)
def test_what_only_repeats_is_left_out(findings: list[TrialFinding], left: list[str]) -> None:
    assert [one.family for one in without_repetitions(findings)] == left


def test_the_refusal_keeps_the_pages_of_the_break_and_the_name_of_the_submodule() -> None:
    (one,) = without_repetitions([REFUSED, BREAK, SUBMODULE])
    assert one.links == (PAGE,)
    assert one.message == snapshot("refused; the submodule `a` (A) is refused by itself with x")


def test_what_eager_raises_itself_is_said_once_and_in_its_words() -> None:
    eager = found("refused", stage="eager", words=Words("eager itself raises", "mend it"))
    (one,) = without_repetitions([eager, replace(REFUSED, words=Words("the same", "do without it"))])
    assert (one.stage.name, one.words) == ("export-strict", eager.words)
    both = list(without_repetitions([eager, replace(REFUSED, line=9)]))
    assert [one.words.message for one in both] == ["eager itself raises", "refused"]


def test_two_stages_that_found_the_same_are_one_finding() -> None:
    first = replace(REFUSED, measured={"strict": "refused"}, effect={"strict": "refused"}, severity=Severity.WARNING)
    named = replace(
        REFUSED, rule="a-rule", words=Words("known", "write this"), stage=stage_named("draft"), links=(PAGE,)
    )
    one = united(first, named)
    assert (one.rule, one.words) == ("a-rule", Words("known", "write this")), "the words of what a rule knows"
    assert one.stage == first.stage, "and where it was met first"
    assert (one.severity, one.effect, one.links) == (Severity.ERROR, {"strict": "refused"}, (PAGE,))


def test_a_refusal_without_a_line_stands_where_a_later_trace_names_one_for_the_same() -> None:
    nowhere = replace(REFUSED, line=1, placed=False, effect={"strict": "refused"})
    later = replace(REFUSED, line=9, stage=stage_named("further"), effect={"strict": "refused"})
    (one,) = placed_later([nowhere, later])
    assert (one.line, one.placed, one.stage.name) == (9, True, "export-strict")
    other = replace(later, words=Words("something else"))
    assert placed_later([nowhere, other]) == [nowhere, other]


WRONG_KERNEL = Observation(
    "note",
    details={
        "note": "fake-kernel",
        "operator": "shop::cut",
        "arguments": "x",
        "real": "float32[3]",
        "fake": "float32[4]",
        "sample": True,
    },
)


@pytest.mark.parametrize(
    ("subject", "stages"),
    [
        pytest.param("shop.cut.default", ["soundness"], id="the operator whose fake kernel was compared"),
        pytest.param("shop.pay.default", ["draft", "soundness"], id="another one"),
    ],
)
def test_what_draft_export_says_of_a_fake_kernel_is_said_once(subject: str, stages: list[str], tmp_path: Path) -> None:
    seen = Observation("exception", details={"draft": "MISMATCHED_FAKE_KERNEL", "subject": subject})
    results = (
        StageResult("draft", "refused", observations=(seen,)),
        StageResult("soundness", "passed", observations=(WRONG_KERNEL,)),
    )
    report = TargetReport("net.py", "net.py", 1, results, {})
    assert [one.stage.name for one in findings_of(report, tmp_path, ("non-strict",))] == stages
