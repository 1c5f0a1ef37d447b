"""How loud a suspicion is under a torch version, and in which words: as the stored truth says, version by version."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot

from exportlint.finding import Severity
from exportlint.registry import RuleInfo, all_rules
from exportlint.rule.suspicion import Place, Suspicion
from exportlint.static.severity import CompiledCases, MeasuredCases, is_advice, judge_between

if TYPE_CHECKING:
    from pathlib import Path

BOTH = ("non-strict", "strict")


def stored(folder: Path, **versions: dict[str, object]) -> RuleInfo:
    for version, cases in versions.items():
        torch = version.lstrip("v").replace("_", ".")
        text = json.dumps({"torch": torch, "exported": cases})
        (folder / f"torch-{torch}.json").write_text(text, "utf-8")
    return RuleInfo("a-rule", "no_module", folder / "a_rule.py", folder / "fixture.py", folder)


def both(outcome: str) -> dict[str, object]:
    return {mode: {"outcome": outcome} for mode in BOTH}


def test_a_case_that_a_version_could_not_try_is_judged_by_the_nearest_older_one(tmp_path: Path) -> None:
    rule = stored(
        tmp_path,
        v2_6_0={"Bad": both("refused"), "BadNew": both("untried")},
        v2_10_0={"Bad": both("untried"), "BadNew": both("differs")},
    )
    old, new = MeasuredCases(rule, "2.6.0", BOTH), MeasuredCases(rule, "2.10.0", BOTH)
    assert new.sentence("Bad") == snapshot("torch 2.6 refuses to export it in either mode")
    assert new.severity("Bad") is Severity.ERROR
    assert old.effect("BadNew") == {}
    assert old.severity("BadNew") is Severity.WARNING, "an error is what was measured"
    assert old.sentence("BadNew") == snapshot("what torch 2.6 does with it is not measured")


def test_a_version_between_two_measured_ones_does_what_both_do(tmp_path: Path) -> None:
    rule = stored(
        tmp_path,
        v2_6_0={"Bad": both("refused"), "BadOnce": both("refused"), "BadNow": both("exports")},
        v2_10_0={"Bad": both("refused"), "BadOnce": both("exports"), "BadNow": both("refused")},
        v2_13_0={"Bad": both("exports"), "BadOnce": both("exports"), "BadNow": both("refused")},
    )
    between = judge_between(partial(MeasuredCases, rule, modes=BOTH), "2.7", rule.truth())
    assert between.severity("Bad") is Severity.ERROR
    assert between.sentence("Bad") == snapshot("torch 2.6 refuses to export it in either mode")
    assert between.severity("BadOnce") is Severity.WARNING
    assert between.sentence("BadOnce") == snapshot(
        "torch 2.6 refuses to export it in either mode; torch 2.10 exports it correctly in either mode; 2.7 was not "
        "measured"
    )
    assert between.effect("BadOnce") == {}, "it is known of no mode"
    assert between.severity("BadNow") is Severity.WARNING
    assert MeasuredCases(rule, "2.10.0", BOTH).severity("BadOnce") is None
    assert MeasuredCases(rule, "2.6.0", BOTH).severity("BadOnce") is Severity.ERROR


def test_of_torch_compile_a_version_between_two_does_what_both_do() -> None:
    rule = all_rules()["number-read-from-tensor"]
    compiled = rule.compiled()
    old, new = compiled["2.6.0"], compiled["2.10.0"]
    changed = next(
        case for case in old if case in new and {old[case]["outcome"], new[case]["outcome"]} == {"one graph", "breaks"}
    )
    between = judge_between(partial(CompiledCases, rule), "2.9", compiled)
    assert between.severity(changed) is Severity.WARNING
    assert between.sentence(changed).endswith("; 2.9 was not measured")
    assert between.effect(changed) == {}
    assert judge_between(partial(CompiledCases, rule), "2.10", compiled).effect(changed) != {}


def test_a_case_that_nothing_fitting_measured_is_said_so(tmp_path: Path) -> None:
    rule = stored(tmp_path, v2_13_0={"Bad": both("refused")})
    assert MeasuredCases(rule, "2.6.0", BOTH).sentence("Bad") == snapshot("what torch 2.6 does with it is not measured")
    assert MeasuredCases(rule, None, BOTH).sentence("Bad") == snapshot("torch 2.13 refuses to export it in either mode")


def test_a_program_that_raises_is_not_said_to_be_wrong_silently(tmp_path: Path) -> None:
    raises = {mode: {"outcome": "differs", "check": "raises"} for mode in BOTH}
    rule = stored(tmp_path, v2_13_0={"Bad": raises})
    assert MeasuredCases(rule, None, BOTH).sentence("Bad") == snapshot(
        "torch 2.13 exports it, and the program raises in either mode"
    )


def test_what_torch_will_drop_is_a_note_in_its_own_words(tmp_path: Path) -> None:
    warns = {mode: {"outcome": "exports", "deprecated": "`torch.old` is deprecated."} for mode in BOTH}
    cases = MeasuredCases(stored(tmp_path, v2_13_0={"Bad": warns}), None, BOTH)
    assert cases.severity("Bad") is Severity.NOTE
    assert cases.sentence("Bad") == snapshot('torch 2.13 still has it, and warns "`torch.old` is deprecated."')


def test_a_case_that_only_names_what_export_has_is_a_note(tmp_path: Path) -> None:
    rule = stored(tmp_path, v2_13_0={"GoodOld": both("exports"), "Bad": both("exports")})
    assert MeasuredCases(rule, None, BOTH).severity("GoodOld") is Severity.NOTE
    assert MeasuredCases(rule, None, BOTH).severity("Bad") is None


@pytest.mark.parametrize(
    ("rule", "case", "torch", "severity", "says"),
    [
        ("frozen-storage-write", "BadToOther", "2.6.0", Severity.WARNING, "run_decompositions()"),
        ("frozen-storage-write", "BadToOther", "2.13.0", None, "torch 2.13 exports it correctly"),
        (
            "tensor-data-access",
            "BadDataWrite",
            "2.6.0",
            Severity.ERROR,
            "torch 2.6 exports it and the program computes some",
        ),
        ("tensor-data-access", "BadDataWrite", "2.13.0", Severity.ERROR, "torch 2.13 in non-strict mode refuses"),
        ("old-export-api", "BadExportForTraining", "2.10.0", None, "torch 2.10 exports it correctly"),
        ("old-export-api", "BadExportForTraining", "2.13.0", Severity.ERROR, "torch 2.13 refuses to export it"),
        ("data-dependent-branch", "BadTorchAssert", "2.13.0", Severity.ERROR, "torch 2.13 refuses"),
        ("data-dependent-branch", "BadTorchAssert", "2.15.0", None, "torch 2.15 exports it correctly"),
        (
            "state-on-self",
            "BadNamespace",
            "2.15.0",
            Severity.ERROR,
            "torch 2.15 exports it and the program",
        ),
        ("graph-break-forced", "BadDisabledFunction", "2.6.0", Severity.WARNING, "torch 2.6 does with it is not meas"),
    ],
)
def test_what_changed_between_versions_is_told_as_it_was_measured(
    rule: str, case: str, torch: str, severity: Severity | None, says: str
) -> None:
    verdicts = MeasuredCases(all_rules()[rule], torch, ("non-strict",))
    assert verdicts.severity(case) is severity
    assert says in verdicts.sentence(case)


def test_a_suspicion_has_the_breaks_that_its_case_makes_and_no_others() -> None:
    measured = MeasuredCases(all_rules()["data-dependent-branch"], "2.13.0", ("non-strict",))
    assert measured.graph_breaks("BadIf") == ("GB0170",)
    assert measured.graph_breaks("BadAllclose") == ("GB0033",)
    assert measured.graph_breaks("BadNeverMeasured") is None


def test_what_torch_compile_does_is_not_told_as_a_matter_of_an_export() -> None:
    """What breaks the graph runs in Python in every call, what compiles again is read in every call, and there is no
    program."""
    judges = {name: CompiledCases(rule, None) for name, rule in all_rules().items()}
    told = [
        one.message
        for name, rule in all_rules().items()
        for case, one in rule.cls.cases.items()
        if judges[name].severity(case)
    ]
    assert "`{code}` prints" in told
    words = re.compile(r"\bonce\b|while (exporting|tracing)|constant of|the program\b|the exporting")
    assert [text for text in told if words.search(text)] == []


def _suspected(rule: RuleInfo, case: str) -> Suspicion:
    said, place = rule.cls.cases[case], Place(1, 1, 1, 2)
    return Suspicion("net.py", rule.name, case, place, said.exported, said.compiled, Severity.ERROR)


def test_what_to_write_for_torch_compile_was_seen_to_be_one_graph() -> None:
    rule = all_rules()["tensor-as-python-number"]
    judge = CompiledCases(rule, None)
    exported = MeasuredCases(rule, None, ("non-strict",))
    into_int = _suspected(rule, "BadInt")
    assert exported.suggestion(into_int).startswith("use `.item()`, which gives a symbol")
    assert judge.suggestion(into_int).startswith("stay with tensors"), "`.item()` breaks the graph"
    assert judge.suggestion(_suspected(rule, "BadCounter")) == "", (
        "torch.bincount, as GoodBincount shows, breaks it too"
    )


def test_most_of_what_torch_compile_breaks_at_is_told_with_what_to_write() -> None:
    told: Counter[bool] = Counter()
    for rule in all_rules().values():
        judge = CompiledCases(rule, None)
        bad = [case for case in rule.cls.cases if not is_advice(case) and judge.severity(case)]
        told.update(bool(judge.suggestion(_suspected(rule, case))) for case in bad)
    assert told[True] >= 0.75 * told.total(), told


def test_what_is_not_so_of_torch_compile_is_not_suggested_for_it() -> None:
    judges = {name: CompiledCases(rule, None) for name, rule in all_rules().items()}
    told = {
        judges[name].suggestion(_suspected(rule, case))
        for name, rule in all_rules().items()
        for case in rule.cls.cases
        if not is_advice(case) and judges[name].severity(case)
    }
    assert [text for text in told if re.search(r"\bexport(s|ed|ing)?\b|strict=", text)] == []


def test_a_class_that_shows_a_suggestion_is_one_of_the_fixture() -> None:
    for rule in all_rules().values():
        known = {
            cls
            for cases in (*rule.compiled().values(), *rule.lowered().values(), rule.truth()["2.13.0"])
            for cls in cases
        }
        named = {said.instead.shown_in for said in rule.cls.cases.values()} - {""}
        assert named <= known, (rule.name, named - known)
