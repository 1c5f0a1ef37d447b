"""Make the findings of one trial of what its stages saw: each thing once, at its place, with its effect in both modes
and with what was seen to help.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.finding import Severity
from exportlint.trial.findings.classify import StageContext, classify
from exportlint.trial.findings.trial_finding import BESIDE_EXPORT, TRAINING_MODE, TrialFinding, united
from exportlint.trial.findings.wording.torch_messages import ONE_BY_ONE, STATE_WHAT_HOLDS, decides
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.outcomes import DIFFERS, MODES, NON_STRICT, PASSED, STRICT, Outcome
from exportlint.trial.protocol.remedies import (
    CHECKS,
    EVAL,
    FAKE_KERNEL,
    FITTING_SHAPES,
    LARGER_SAMPLE,
    NO_GRAD,
    NO_VALIDATION,
    SWITCH,
    operator_name,
    operator_without_fake_kernel,
)
from exportlint.trial.protocol.stages import EAGER, LOAD, SOUNDNESS
from exportlint.trial.protocol.torch_messages import (
    given_class_name,
    is_about_inputs,
    is_about_outputs,
    is_inside_scripted_part,
    names_scripted_part,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import StageResult, TargetReport


def findings_of(report: TargetReport, root: Path, modes: Sequence[str]) -> list[TrialFinding]:
    """In the order of the ladder; `modes` are those that severity follows."""
    found = [with_remedy(judged(one, report, modes), report, modes) for one in _joined(report, root)]
    return list(without_repetitions(placed_later(found)))


def placed_later(found: Sequence[TrialFinding]) -> list[TrialFinding]:
    """A refusal of which torch names no line stands at the first line that a later trace names for the same, with the
    name of the submodule that is refused by itself."""
    submodule = next((one.within for one in found if one.family == "submodule"), "")
    moved: dict[int, TrialFinding] = {}
    gone: set[int] = set()
    for one in found:
        if one.family == "refused" and not one.placed:
            later = (other for other in found if other.placed and other.stage.went_on and other.family == one.family)
            same = (other for other in later if other.words.message == one.words.message)
            if (
                there := next((other for other in same if other.effect.items() >= one.effect.items()), None)
            ) is not None:
                here = replace(one, path=there.path, line=there.line, line_text=there.line_text, placed=True)
                here = replace(here, within=here.within or submodule)
                moved[id(there)] = united(here, moved.get(id(there), there))
                gone.add(id(one))
    return [moved.get(id(one), one) for one in found if id(one) not in gone]


def _joined(report: TargetReport, root: Path) -> Iterator[TrialFinding]:
    """What the stages found, each refused line and each failed check once, in the order of the ladder."""
    first: dict[tuple[object, ...], TrialFinding] = {}
    for result in report.stages:
        for plain, changed in _at_changing_lines(result, report):
            if repeats_wrong_kernel(plain, report) or was_traced_past(plain, report):
                continue
            seen = of_scripted_part(at_operator(plain, report), report)
            path, line = place_of(seen, report)
            where = StageContext(
                report.name, result.row, root, path and str(Path(path).resolve()), line, report.exported
            )
            for found in classify(where, seen, changed):
                known = first.get(_key(found))
                first[_key(found)] = united(known, found) if known else found
    yield from first.values()


_WITHOUT_IT = "replace that submodule by one that exports, or leave it out of what is exported"


def _key(found: TrialFinding) -> tuple[object, ...]:
    """A line that several stages of export refuse is one finding, and so is a check that fails in several."""
    refused_later = not found.of_export and found.family == "refused"
    stage = found.stage.name if refused_later else found.stage.lowering is not None
    rule = found.name if found.family in BESIDE_EXPORT else ""
    return found.path, found.line, found.family, stage, rule, found.literal_of, found.output


def without_repetitions(found: Sequence[TrialFinding]) -> Iterator[TrialFinding]:
    """Leave out what only repeats, and what an agreeing program makes harmless.

    What eager itself raises at a refused line is said once, in eager's words. A break of the graph at a refused line
    gives its pages to the refusal, a submodule that is refused there its name; a lowering may differ just as the
    exported program did. Inputs that are not used are about failures, and so are warnings: of those of a program that
    nobody gets, torch's own caches of weights say, nothing follows.
    """
    failures = [one for one in found if one.of_export]
    refused = {_line(one): one for one in failures if one.family == "refused"}
    breaks = {_line(one): one.links for one in found if one.family == "graph-break"}
    within = {_line(one): one.within for one in failures if one.within}
    one_is_unplaced = any(not one.placed for one in refused.values())
    differ = {one.family for one in failures} - {"refused", "submodule"}
    failed = any(one.severity is Severity.ERROR for one in failures)
    raised = {_line(one): one for one in found if one.stage == EAGER and one.family == "refused"}
    sized = any(one.family == "static-dim" for one in found)
    for one in found:
        line = _line(one)
        if one is refused.get(line):
            links = tuple(dict.fromkeys((*one.links, *breaks.get(line, ()))))
            words = raised[line].words if line in raised else one.words
            if line in within and words.suggestion == ONE_BY_ONE:  # which the trial has done
                words = replace(words, suggestion=_WITHOUT_IT)
            yield replace(one, words=words, within=within.get(line, ""), links=links)
        elif not (
            (one is raised.get(line) and line in refused)
            or (one.within and (line in refused or not one_is_unplaced))
            or (one.stage.informs and line in refused)
            or (one.family == "warning" and (differ or refused or not failed))
            or (one.family.startswith("unused-input") and not failed)
            or (one.stage.lowering and one.family in differ)
            or (one.family == "eager-after-export" and "fake-tensor-left" in differ)
            or (sized and one.family == "raises" and one.about_a_size)
            or (one.family == "frozen" and not one.placed and "baked" in differ)
        ):
            yield one


def _line(found: TrialFinding) -> tuple[str, int]:
    return found.path, found.line


def _at_changing_lines(result: StageResult, report: TargetReport) -> Iterator[tuple[Observation, str | None]]:
    """What changes the state that the program lacks was noted in eager: its lines stand in where there is none yet.

    With each observation what its line changes, where that is so.
    """
    for seen in result.observations:
        changing = _changing(report, str(seen.check)) if seen.kind == "difference" else []
        here = [note for note in changing if (note.user_path, note.user_line) == (seen.user_path, seen.user_line)]
        mattering = [note for note in changing if note.details.get("matters")]
        notes = mattering or (here if seen.user or seen.check == "state" else changing)
        for note in notes:
            yield replace(seen, frames=note.frames, user=note.user), str(note.details.get("attribute"))
        if not notes:
            yield seen, None


_CAUSES = {"state": "attribute-changed", "observe": "attribute-changed", "input-effect": "inputs-changed"}


def _changing(report: TargetReport, check: str) -> list[Observation]:
    wanted = _CAUSES.get(check)
    eager = report.stage(EAGER.name)
    notes = eager.observations if eager else ()
    return [seen for seen in notes if seen.details.get("note") == wanted and wanted and seen.user]


# Where something stands that torch names no line for.


def place_of(seen: Observation, report: TargetReport) -> tuple[str | None, int | None]:
    """An input stands at forward's parameter, an output at its return, the mode of the model, its `dynamic_shapes` and
    an object of a library's class at the call that a script gives them to, all else at the class; where the code is not
    the project's own, all stands where the target does."""
    about_call = seen.details.get("note") == TRAINING_MODE or seen.is_about_declaration
    about_call = about_call or given_class_name(seen.text) is not None
    if about_call and report.target and report.target.given_to:
        return report.path, report.line
    load = report.stage(LOAD.name)
    places = load.data.get("places") if load else None
    if not places:
        return report.path, report.line
    name = seen.details.get("input")
    if name in places["parameters"]:
        return places["path"], places["parameters"][name]
    if (is_about_outputs(seen.text) or "output_of" in seen.details) and places["returns"]:
        return places["path"], places["returns"][0]
    return places["path"], places["forward" if is_about_inputs(seen.text) else "class"]


# Put what is said of a custom operator together where it is defined: however often it is called, it is one cause.


def at_operator(seen: Observation, report: TargetReport) -> Observation:
    """A refusal for want of a fake kernel, with the draft that the trial made of one; anything else as it is."""
    operator = operator_without_fake_kernel(seen) if seen.kind in ("exception", "graph-break") else None
    draft = _note("fake-kernel-draft", operator, report) if operator else None
    if draft is None:
        return seen
    drafted = seen.with_details(fake_kernel=draft.details["code"])
    if draft.user is None or is_installed(draft.user.path):
        return drafted
    called = {"called_at": [seen.user.path, seen.user.line]} if seen.user else {}
    return replace(drafted.with_details(**called), frames=draft.frames, user=draft.user)


# Where a scripted part is called, it is the cause, whatever a mode that runs it says of what it did.


def of_scripted_part(seen: Observation, report: TargetReport) -> Observation:
    """A refusal at a line that decides nothing itself, and at which Dynamo met a TorchScript module: with its words;
    and one inside of such a module, whose methods are none of Python's, at the line that calls it."""
    if seen.kind == "exception" and is_inside_scripted_part(seen.text):
        return _at_scripted_call(seen, report)
    if seen.kind != "exception" or seen.user is None or decides(seen.user.text) or names_scripted_part(seen.text):
        return seen
    here = (seen.user_path, seen.user_line)
    others = (one for stage in report.stages for one in stage.observations if (one.user_path, one.user_line) == here)
    met = next((one for one in others if names_scripted_part(one.text)), None)
    return seen if met is None else replace(seen, text=met.text)


def _at_scripted_call(seen: Observation, report: TargetReport) -> Observation:
    every = (one for stage in report.stages for one in stage.observations if names_scripted_part(one.text))
    named = {(one.user_path, one.user_line): one for one in every}
    for number, frame in enumerate(seen.frames, 1):
        if met := named.get((frame.path, frame.line)):
            return replace(seen, text=met.text).at(seen.frames[:number])
    return seen


def was_traced_past(seen: Observation, report: TargetReport) -> bool:
    """Is it a decision that draft_export meets, where the trace that goes on after a refusal came to the model's end?

    Draft decides by the values of the sample, so what it meets after the first refusal may be refused in no export.
    Where the other trace came to its end, it has told every line that is.
    """
    if seen.details.get("draft") not in {"DATA_DEPENDENT_ERROR", "GUARD_ADDED"} or NON_STRICT in report.exported:
        return False
    went_on = report.stage(SOUNDNESS.name)
    return went_on is not None and went_on.status in (PASSED, DIFFERS)


def repeats_wrong_kernel(seen: Observation, report: TargetReport) -> bool:
    """Does draft_export say that a fake kernel is wrong, which the trial's own comparison has shown?"""
    if seen.details.get("draft") != "MISMATCHED_FAKE_KERNEL":
        return False
    return _note("fake-kernel", operator_name(str(seen.details["subject"])), report) is not None


def _note(name: str, operator: str, report: TargetReport) -> Observation | None:
    notes = (seen for stage in report.stages for seen in stage.observations)
    wanted = {"note": name, "operator": operator}
    return next((seen for seen in notes if wanted.items() <= seen.details.items()), None)


# Put together what the modes of one trial did: the effect of a finding, and its severity.


def judged(found: TrialFinding, report: TargetReport, modes: Sequence[str]) -> TrialFinding:
    """Add the effect in the other mode, where that was measured too, and let the severity follow the chosen modes."""
    if not found.effect:
        return found
    exports = Outcome.EXPORTS.value
    known = {mode: exports for mode in MODES if report.agrees(mode)} | dict(found.effect)
    effect = {mode: known[mode] for mode in MODES if mode in known}
    severity = found.severity
    # A line that the other mode alone refuses does no harm in one that exports, whatever else the program gets wrong.
    passed = report.exported if found.family == "refused" else frozenset[str]()
    if all(effect.get(mode, exports if mode in passed else None) == exports for mode in modes):
        severity = Severity.NOTE  # measured, but in the mode that nobody chose
    return replace(found, effect=effect, severity=severity)


# Put what the trial saw help into the advice of a refusal.


_WORDS = {
    NO_GRAD: "export under `torch.no_grad()`",
    NO_VALIDATION: "build distributions with `validate_args=False`, or call "
    "`torch.distributions.Distribution.set_default_validate_args(False)` before the export",
    EVAL: "call `.eval()` before the export",
    FAKE_KERNEL: "register a fake kernel",
    LARGER_SAMPLE: "use a sample of 2 or more there",
}


def with_remedy(found: TrialFinding, report: TargetReport, modes: Sequence[str] = MODES) -> TrialFinding:
    """The refusal at which an export ended, or one for which a fake kernel was drafted, with what made the same export
    pass; what a program computes otherwise, with the mode whose program does not; any other finding as it is, and what
    fails in a mode that is not among the chosen `modes` where those agree."""
    differing = [mode for mode, outcome in found.effect.items() if outcome == Outcome.DIFFERS.value]
    refused = [mode for mode, outcome in found.effect.items() if outcome == Outcome.REFUSED.value]
    if all(mode not in (*refused, *differing) and report.agrees(mode) for mode in modes):
        return found
    if found.of_export and differing:
        return replace(found, remedy=_other_mode([*refused, *differing], report))
    if found.family != "refused" or not (found.stage.mode or found.code):
        return found
    remedy, helped = _remedy(refused, report), _helped(report)
    if remedy and found.words.suggestion == STATE_WHAT_HOLDS:
        found = replace(found, words=replace(found.words, suggestion=None))  # what holds is what the remedy says
    off = next((helped[mode] for mode in refused if mode in helped and helped[mode]["remedy"] == SWITCH), None)
    if off:
        words = replace(found.words, suggestion=None)  # which names no switch that was tried
        found = replace(found, words=words, switch=str(off["switch"]), loose_trace=bool(off["loose_trace"]))
    return replace(found, remedy=remedy)


def _other_mode(failing: list[str], report: TargetReport) -> str:
    for mode in MODES:
        if mode not in failing and report.agrees(mode):
            argument = "`strict=True`" if mode == STRICT else "`strict=False`, the default"
            return f"export with {argument}, as this trial did: it exports and agrees with eager"
    return ""


def _remedy(refused: list[str], report: TargetReport) -> str:
    helped = _helped(report)
    if other := _other_mode(refused, report):
        return other
    for mode in refused:
        if mode in helped and not _cuts_all_else(helped[mode], report):
            return _in_words(helped[mode], mode, report)
    return ""


def _cuts_all_else(helped: Mapping[str, Any], report: TargetReport) -> bool:
    """Did the samples return in the branch that the checks keep? Then they cut off the other way, which is no
    exception but the rest of the function."""
    at = [(one["path"], one["cuts"]) for one in helped.get("checks", ()) if one["cuts"]]
    return any(line in report.called.get(path, ()) for path, line in at)


def _in_words(helped: Mapping[str, Any], mode: str, report: TargetReport) -> str:
    if helped["remedy"] == CHECKS:
        behind: dict[str, list[str]] = {}
        for one in helped["checks"]:
            behind.setdefault(f"`{one['source']}` (line {one['line']})", []).append(f"`{one['text']}`")
        written = ", ".join(f"{_listed(texts)} behind {place}" for place, texts in behind.items())
        return (
            f"write {written}, as this trial did: it then exports and agrees with eager in {mode} mode, and "
            f"refuses inputs for which that does not hold{_cut(helped['checks'], report)}"
        )
    if helped["remedy"] == FITTING_SHAPES:
        shapes = str(helped["shapes"]).rpartition("\n")[2]
        return (
            f"write `{shapes}`, as this trial did: it then exports and agrees with eager on the sample in {mode} mode"
        )
    if helped["remedy"] == LARGER_SAMPLE:
        return f"{_WORDS[LARGER_SAMPLE]}, as this trial did: with 2 it exports and agrees with eager in {mode} mode"
    if helped["remedy"] == SWITCH:
        line = f"write `model.{helped['switch']} = False` before the call, as this trial did"
        loose = "; `torch.jit.trace` takes the rest with `strict=False`" if helped["loose_trace"] else ""
        return f"{line}: the output is then the same without that object, and exports in {mode} mode{loose}"
    result = "exports" if helped["remedy"] == EVAL else "exports and agrees with eager on the sample"
    return f"{_WORDS[helped['remedy']]}, as this trial did: it then {result} in {mode} mode"


def _cut(checks: Sequence[Mapping[str, Any]], report: TargetReport) -> str:
    """The samples went on with the checks, so a `return` that they never reached is what those cut off."""
    at = {(one["path"], one["cuts"]) for one in checks if one["cuts"]}
    lines = sorted(line for path, line in at if path in report.called and line not in report.called[path])
    return f", for which eager returns at line {' and '.join(map(str, lines))}" if lines else ""


def _listed(texts: list[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))


def _helped(report: TargetReport) -> dict[str, Mapping[str, Any]]:
    """Mode -> the note of the remedy that made it export."""
    notes = (seen.details for stage in report.stages for seen in stage.observations)
    return {note["mode"]: note for note in notes if note.get("note") == "remedy"}
