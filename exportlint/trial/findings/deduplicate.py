"""Join what the stages of one trial found: each thing once, with its effect in both modes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Severity
from exportlint.trial.findings.agreement import judged
from exportlint.trial.findings.classify import StageContext, classify
from exportlint.trial.findings.operator_definition import at_operator, repeats_wrong_kernel
from exportlint.trial.findings.place import place_of
from exportlint.trial.findings.trial_finding import BESIDE_EXPORT, TrialFinding, united
from exportlint.trial.findings.verified_advice import with_remedy
from exportlint.trial.protocol.stages import EAGER, StageKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import StageResult, TargetReport


def findings_of(report: TargetReport, root: Path, modes: Sequence[str]) -> list[TrialFinding]:
    """In the order of the ladder; `modes` are those that severity follows."""
    found = [with_remedy(judged(one, report, modes), report, modes) for one in _joined(report, root)]
    return list(without_repetitions(found))


def _joined(report: TargetReport, root: Path) -> Iterator[TrialFinding]:
    """What the stages found, each refused line and each failed check once, in the order of the ladder."""
    first: dict[tuple[object, ...], TrialFinding] = {}
    for result in report.stages:
        for plain, changed in _at_changing_lines(result, report):
            if repeats_wrong_kernel(plain, report):
                continue
            seen = at_operator(plain, report)
            path, line = place_of(seen, report)
            where = StageContext(
                report.name, result.row, root, path and str(Path(path).resolve()), line, report.exported
            )
            for found in classify(where, seen, changed):
                known = first.get(_key(found))
                first[_key(found)] = united(known, found) if known else found
    yield from first.values()


def _key(found: TrialFinding) -> tuple[object, ...]:
    """A line that several stages of export refuse is one finding, and so is a check that fails in several."""
    refused_later = not found.of_export and found.family == "refused"
    stage = found.stage.name if refused_later else found.stage.lowering is not None
    rule = found.name if found.family in BESIDE_EXPORT else ""
    return found.path, found.line, found.family, stage, rule


def without_repetitions(found: Sequence[TrialFinding]) -> Iterator[TrialFinding]:
    """Leave out what only repeats, and what an agreeing program makes harmless.

    What eager itself raises at a refused line is said once, in eager's words. A break of the graph at a refused line
    gives its pages to the refusal, a submodule that is refused there its name; a lowering may differ just as the
    exported program did. Warnings, and inputs that are not used, are about failures.
    """
    failures = [one for one in found if one.of_export]
    refused = {_line(one): one for one in failures if one.family == "refused"}
    breaks = {_line(one): one.links for one in found if one.family == "graph-break"}
    within = {_line(one): one.within for one in failures if one.within}
    one_is_unplaced = any(not one.placed for one in refused.values())
    differ = {one.family for one in failures} - {"refused", "submodule"}
    failed = any(one.severity is Severity.ERROR for one in failures)
    raised = {_line(one): one for one in found if one.stage.kind is StageKind.EAGER and one.family == "refused"}
    sized = any(one.family == "static-dim" for one in found)
    for one in found:
        line = _line(one)
        if one is refused.get(line):
            links = tuple(dict.fromkeys((*one.links, *breaks.get(line, ()))))
            words = raised[line].words if line in raised else one.words
            yield replace(one, words=words, within=within.get(line, ""), links=links)
        elif not (
            (one is raised.get(line) and line in refused)
            or (one.within and (line in refused or not one_is_unplaced))
            or (one.stage.kind is StageKind.INFORM and line in refused)
            or (one.family == "warning" and (differ or not failed))
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
