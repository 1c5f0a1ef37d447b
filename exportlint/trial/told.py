"""What the trial of one target told: every stage's findings, each thing once, with the effect in both modes."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Finding, Severity
from exportlint.trial.reasons import Told, Where, told_of
from exportlint.trial.report import MODES, StageResult, TargetReport

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.trial.observation import Observation

# What these tell is no failure of export, so it is not what the static pass suspected.
_BESIDE = ("graph-break", "warning", "training-mode")
_OF_EXPORT = ("export-", "draft", "further", "submodules", "soundness", "dynamic-shapes")


def of_export(told: Told) -> bool:
    """Is it a failure of export, which the static pass can have suspected?"""
    return told.family not in _BESIDE and (told.finding.stage or "").startswith(_OF_EXPORT)


def told_by(report: TargetReport, root: Path, modes: Sequence[str]) -> Iterator[Told]:
    """In the order of the ladder; `modes` are those that severity follows."""
    yield from _told_once([_judged(told, report, modes) for told in _dynamic(report, root)])


def _dynamic(report: TargetReport, root: Path) -> Iterator[Told]:
    """What the stages told, each refused line and each failed check once, in the order of the ladder."""
    first: dict[tuple[object, ...], Told] = {}
    for stage in report.stages:
        where = Where(report.name, stage.name, root, report.path and str(Path(report.path).resolve()), report.line)
        for told in told_of(where, _placed(stage, report)):
            known = first.setdefault(_key(told), told)
            if known is not told:
                first[_key(told)] = replace(known, finding=united(known.finding, told.finding))
    yield from first.values()


def _key(told: Told) -> tuple[object, ...]:
    """A line that several stages of export refuse is one finding, and so is a check that fails in several."""
    finding = told.finding
    stage = finding.stage if not of_export(told) and told.family == "refused" else (finding.stage or "")[:6] == "lower-"
    rule = finding.rule if told.family in _BESIDE else ""
    return finding.path, finding.line, told.family, stage, rule


def _told_once(tried: Sequence[Told]) -> Iterator[Told]:
    """Without what only repeats: a break at a refused line (its page goes there), a submodule that is refused there too
    (its name goes there), a lowering that differs just as the exported program did. And without what an agreeing
    program makes harmless: warnings, inputs that it does not use."""
    failures = [told for told in tried if of_export(told)]
    refused = {_line(told): told for told in failures if told.family == "refused"}
    breaks = {_line(told): told.finding.links for told in tried if told.family == "graph-break"}
    within = {_line(told): told.within for told in failures if told.within}
    lineless = any(not told.placed for told in refused.values())
    differ = {told.family for told in failures} - {"refused", "submodule"}
    failed = any(told.finding.severity is Severity.ERROR for told in failures)
    sized = any(told.family == "static-dim" for told in tried)
    for told in tried:
        lowered = (told.finding.stage or "").startswith("lower-")
        if told is refused.get(_line(told)):
            links = dict.fromkeys((*told.finding.links, *breaks.get(_line(told), ())))
            said = "; ".join(filter(None, (told.finding.message, within.get(_line(told)))))
            yield replace(told, finding=replace(told.finding, message=said, links=tuple(links)))
        elif not (
            (told.within and (_line(told) in refused or not lineless))
            or (told.family == "graph-break" and _line(told) in refused)
            or (told.family == "warning" and (differ or not failed))
            or (told.family.startswith("unused-input") and not failed)
            or (lowered and told.family in differ)
            or (sized and told.family == "raises" and re.search(r"\.(size\(\)|shape)\[", told.finding.message))
        ):
            yield told


def _line(told: Told) -> tuple[str, int]:
    return told.finding.path, told.finding.line


def _placed(stage: StageResult, report: TargetReport) -> Iterator[Observation]:
    """What changes the state that the program lacks was noted in eager: its lines stand in where there is none yet."""
    for seen in stage.observations:
        changing = _changing(report, str(seen.details.get("check"))) if seen.kind == "difference" else []
        here = [note for note in changing if (note.user_path, note.user_line) == (seen.user_path, seen.user_line)]
        mattering = [note for note in changing if note.details.get("matters")]
        notes = mattering or (here if seen.user_path or seen.details.get("check") == "state" else changing)
        for note in notes:
            text = f"{seen.text}; this line changes `{note.details.get('attribute')}`"
            yield replace(note, kind="difference", text=text, details=seen.details)
        if not notes:
            yield seen


_CAUSES = {"state": "attribute-changed", "observe": "attribute-changed", "input-effect": "inputs-changed"}


def _changing(report: TargetReport, check: str) -> list[Observation]:
    wanted = _CAUSES.get(check)
    notes = (seen for stage in report.stages if stage.name == "eager" for seen in stage.observations)
    return [seen for seen in notes if seen.details.get("note") == wanted and wanted and seen.user_path]


def united(first: Finding, other: Finding) -> Finding:
    """One finding of two stages: the earlier words, unless only the later ones are known to a rule."""
    named, plain = (other, first) if nameless(first) and not nameless(other) else (first, other)
    rank = min(first, other, key=lambda finding: finding.severity.rank).severity
    return replace(
        named,
        severity=rank,
        target=first.target,
        stage=first.stage,
        effect={**other.effect, **first.effect},
        links=tuple(dict.fromkeys((*named.links, *plain.links))),
        fix=named.fix or plain.fix,
    )


def nameless(finding: Finding) -> bool:
    """No rule knows it as its own."""
    return finding.rule.startswith("trial-")


def _judged(told: Told, report: TargetReport, modes: Sequence[str]) -> Told:
    """The effect in the other mode where it was measured too, and a severity that follows the modes that count."""
    finding = told.finding
    if not finding.effect:
        return told
    measured = {mode: "exports" for mode in MODES if agrees(report, mode)} | dict(finding.effect)
    effect = {mode: measured[mode] for mode in MODES if mode in measured}
    severity = finding.severity
    if all(effect.get(mode) == "exports" for mode in modes):
        # Measured, but in the mode that nobody chose.
        severity = max(severity, Severity.WARNING, key=_rank)
    message = f"{finding.message} ({_sentence(effect)})"
    judged = replace(finding, effect=effect, severity=severity, message=message)
    return replace(told, finding=judged, outcomes=dict(finding.effect))


def _rank(severity: Severity) -> int:
    return severity.rank


def _sentence(effect: dict[str, str]) -> str:
    """ "refused in either mode", or what each mode does."""
    if len(effect) == len(MODES) and len(set(effect.values())) == 1:
        return f"{next(iter(effect.values()))} in either mode"
    return ", ".join(
        f"{outcome} and agrees with eager in {mode} mode" if outcome == "exports" else f"{outcome} in {mode} mode"
        for mode, outcome in effect.items()
    )


def agrees(report: TargetReport, mode: str) -> bool:
    """Did the target export in this mode, and did soundness compare it with eager and find nothing?"""
    export, soundness = report.stage(f"export-{mode}"), report.stage("soundness")
    if export is None or not export.passed or soundness is None or soundness.status not in ("passed", "differs"):
        return False
    # Sizes are tried in one mode only; where they differ, nothing is known of the other.
    shapes = report.stage("dynamic-shapes")
    if shapes is not None and any(seen.kind == "difference" for seen in shapes.observations):
        return False
    return not any(
        (seen.kind == "difference" and seen.details.get("mode") == mode) or seen.details.get("note") == "eager-unstable"
        for seen in soundness.observations
    )
