"""What a report comes to, as every format for people tells it: of each target one sentence, then its causes.

One mistake in a model can fail ten stages in two modes, and each tells it in other words. So findings are put together
by cause, and causes come in the order in which one mends them: what was seen to fail before what is suspected, what
fails early before what fails late, which it hides.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding, Severity
from exportlint.trial.protocol.outcomes import (
    COMPILED,
    CRASHED,
    DIFFERS,
    FAILED,
    MODES,
    PASSED,
    REFUSED,
    SKIPPED,
    TIMED_OUT,
)
from exportlint.trial.protocol.purposes import COMPILE
from exportlint.trial.protocol.stages import EAGER, FURTHER, LOAD, NEVER_RAN, StageKind, stage_named

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from exportlint.output.report import Report
    from exportlint.trial.protocol.result import StageResult, TargetReport
    from exportlint.trial.protocol.stages import Stage


_LATER = {"decompose": "cannot be decomposed", "save-load": "cannot be saved"}
_LOWERED = {"runs in {}": (PASSED,), "compiled for {}, not run here": (COMPILED,), "fails in {}": FAILED}
_ENDED = {CRASHED: "crashes the export", TIMED_OUT: "does not finish exporting"}


def verdict(target: TargetReport, shown: Collection[Finding] = ()) -> str:
    """Whether it exports and agrees, mode by mode, and where it runs; "" where nothing was tried.

    It is the worst that is known, the findings that are `shown` below it included: what agrees in all that was tried is
    not right where one of them says that the program computes something else.
    """
    for first, words in ((LOAD, "does not load"), (EAGER, "does not run in eager")):
        stage = target.stage(first.name)
        if stage is not None and stage.status == SKIPPED:
            return f"{_unknown(target)}: {stage.full_detail}"
        if stage is not None and not stage.passed:
            return f"{words}: {stage.full_detail}" if stage.full_detail else words
    load = target.stage(LOAD.name)
    wrapped = "once wrapped in a module, " if load is not None and load.data.get("wrapped") else ""
    said = [*(f"{wrapped}{text}" for text in _by_mode(target, shown)), *_afterwards(target), *_compiled(target)]
    if places := {(one.path, one.line) for one in doubts(target, shown)}:
        said.append(f"nothing that was tried could show what is said of {_places(places)}")
    return "; ".join(said) or (_unknown(target) if target.stage(LOAD.name) else "")


def _unknown(target: TargetReport) -> str:
    is_compiled = any(stage.row.purpose == COMPILE for stage in target.stages)
    only_compiled = is_compiled and not any(stage.row.kind is StageKind.EXPORT for stage in target.stages)
    return f"whether it {'compiles' if only_compiled else 'exports'} is not known"


def shown_seconds(stage: StageResult) -> str:
    """How long a stage took; "" of one that was skipped."""
    return "" if stage.status == SKIPPED else f"{stage.seconds:.2f}"


def _by_mode(target: TargetReport, shown: Collection[Finding]) -> Iterator[str]:
    said = {mode: text for mode in MODES if (text := _of_mode(target, mode, shown))}
    if len(said) == len(MODES) and len(set(said.values())) == 1:
        yield f"{next(iter(said.values()))} in either mode"
    else:
        yield from (f"{text} in {mode} mode" for mode, text in said.items())


def _of_mode(target: TargetReport, mode: str, shown: Collection[Finding]) -> str:
    result = target.of(lambda row: row.mode == mode)
    match result.status if result else None:
        case None:
            return ""
        case str(status) if status in _ENDED:
            return _ENDED[status]
        case str(status) if status == REFUSED:
            lines = _refused_lines(target, mode, shown)
            further = target.stage(FURTHER.name)
            more = " or more" if further is not None and further.data.get("stopped") else ""
            return f"is refused at {lines} line{'' if lines == 1 else 's'}{more}" if lines else "is refused"
        case str(status) if status in (PASSED, DIFFERS):
            return _compared(target, mode, shown)
    return ""


def _refused_lines(target: TargetReport, mode: str, shown: Collection[Finding]) -> int:
    """How many lines the findings name; without any, torch in the export and in the stages that go on after it."""
    told = {(one.path, one.line) for one in shown if one.target == target.name and one.effect.get(mode) == REFUSED}
    if told:
        return len(told)
    own = (
        seen
        for stage in target.stages
        for seen in stage.observations
        if seen.kind == "exception" and mode in (stage.row.mode, seen.details.get("mode"))
    )
    return len({(seen.user_path, seen.user_line) for seen in own if seen.user})


def _compared(target: TargetReport, mode: str, shown: Collection[Finding]) -> str:
    """Of a mode that exports. Where eager does not repeat itself, nobody knows whether it agrees."""
    if target.agrees(mode):
        if _is_in_training(target, shown):
            return "exports with training switched on"
        return f"exports and agrees with eager{' as far as it was tried' if _doubts(target, mode, shown) else ''}"
    compared = (target.of(lambda row: row.mode == mode), target.of(lambda row: row.kind is StageKind.COMPARE))
    seen = [one for stage in compared if stage for one in stage.observations if one.kind == "difference"]
    seen = [one for one in seen if one.details.get("mode", mode) == mode]
    if _is_static(target) and target.agrees(mode, beside_sizes=True):
        return "exports and agrees with eager"
    if seen and all(one.is_about_containers for one in seen):
        return "exports and agrees with eager in its outputs, not in what it does to its arguments"
    if seen and all(one.is_about_the_model for one in seen):
        return "exports and agrees with eager, and breaks the model itself"
    return "exports and differs from eager" if seen else "exports"


def _is_in_training(target: TargetReport, shown: Collection[Finding]) -> bool:
    """Was it exported in training mode, where a finding says that this is wrong?"""
    compared = target.of(lambda row: row.kind is StageKind.COMPARE)
    notes = [seen.details.get("note") for seen in compared.observations] if compared else []
    own = (one for one in shown if compared and (one.target, one.stage) == (target.name, compared.name))
    return "training-mode" in notes and any(one.severity is not Severity.NOTE for one in own)


def doubts(target: TargetReport, shown: Collection[Finding]) -> list[Finding]:
    """What is suspected to differ where all that was tried agrees."""
    return [one for mode in MODES for one in _doubts(target, mode, shown)]


def _doubts(target: TargetReport, mode: str, shown: Collection[Finding]) -> list[Finding]:
    """Suspicions at lines that the target ran, of what differs in this mode though all that was tried agrees."""
    if not target.agrees(mode):
        return []
    return [
        one
        for one in shown
        if one.evidence is Evidence.SUSPECTED
        and one.severity is not Severity.NOTE
        and one.effect.get(mode) == DIFFERS
        and target.ran(one.path, range(one.line, one.end_line + 1))
    ]


def _places(places: Collection[tuple[str, int]]) -> str:
    first = [f"{path}:{line}" for path, line in sorted(places)]
    return first[0] if len(first) == 1 else f"{', '.join(first[:-1])} and {first[-1]}"


def _is_static(target: TargetReport) -> bool:
    """Is nothing declared dynamic, though the target names inputs of other sizes?"""
    sizes = target.of(lambda row: row.kind is StageKind.SIZES)
    return sizes is not None and any(seen.check == "static-dim" for seen in sizes.observations)


_ENDED_COMPILING = {
    REFUSED: "torch.compile raises",
    CRASHED: "torch.compile crashes",
    TIMED_OUT: "torch.compile does not end",
}


def _compiled(target: TargetReport) -> Iterator[str]:
    """What torch.compile does with it, where that was looked at."""
    breaks, agreement = target.of(lambda row: row.kind is StageKind.BREAKS), target.of(_compares_compiled)
    if breaks is None or breaks.status == SKIPPED:
        return
    if breaks.status in _ENDED_COMPILING:
        yield _ENDED_COMPILING[breaks.status]
        return
    found = target.compilation
    graphs = len(found.graphs)
    number = "no graph" if not graphs else "1 graph" if graphs == 1 else f"{graphs} graphs"
    places = len({(one.path, one.line) for one in found.graph_breaks})
    if places:
        text = f"compiles into {number}, broken at {places} line{'' if places == 1 else 's'}"
    elif not graphs:
        text = "torch.compile finds nothing to compile"
    else:
        text = "compiles into one graph" if graphs == 1 else f"compiles into {number} without a break"
    if agreement is not None and agreement.status in (PASSED, DIFFERS):
        text += " and agrees with eager" if agreement.passed else " and differs from eager"
    yield text
    if any(one.over_limit for one in found.recompiles):
        yield "compiles again until Dynamo gives up, and runs in Python from then on"
    elif found.recompiles:
        yield "compiles again each time that something changes"


def _compares_compiled(row: Stage) -> bool:
    return row.kind is StageKind.AGREEMENT


def _afterwards(target: TargetReport) -> Iterator[str]:
    """Other sizes, which are tried in one mode; what it cannot be made into; where it runs."""
    sizes = target.of(lambda row: row.kind is StageKind.SIZES)
    stages = [stage for stage in (target.of(lambda row: row.kind is StageKind.COMPARE),) if stage]
    if wrong := dict.fromkeys(
        str(seen.details["operator"]) for stage in stages for seen in stage.observations if seen.is_wrong_kernel
    ):
        yield f"the fake kernel of {', '.join(wrong)} is wrong"
    if _is_static(target):
        yield "takes no other sizes than the sample's"
    elif sizes is not None and any(seen.kind == "difference" for seen in sizes.observations):
        yield "not for all declared sizes"
    yield from (words for name, words in _LATER.items() if (stage := target.stage(name)) and stage.status == REFUSED)
    lowered = [stage for stage in target.stages if stage.row.lowering]
    for words, statuses in _LOWERED.items():
        if names := [str(stage.row.lowering) for stage in lowered if stage.status in statuses]:
            yield words.format(", ".join(names))


# Causes.


_QUOTED = re.compile(r"'[^']*'|`[^`]*`")
_TRIED = (Evidence.CONFIRMED, Evidence.DISCOVERED)
_MOST_PLACES = 6
# The head of what stands behind all targets.
BESIDE = "read in the source, and shown by no trial"


@dataclass(frozen=True, slots=True)
class Cause:
    """Findings of one cause. `head` names it, where a target has several causes or a cause several places."""

    findings: tuple[Finding, ...]
    head: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """A target with its causes; None: findings that are no target's, each alone.

    breaks     where torch.compile breaks the graph and export was not seen to fail, which is no cause of anything
    never_ran  the regions that the samples never ran, which are no cause either
    """

    target: TargetReport | None
    causes: tuple[Cause, ...]
    breaks: tuple[Finding, ...] = ()
    never_ran: tuple[Finding, ...] = ()


def parts(report: Report) -> Iterator[Part]:
    """All that a report shows, in order."""
    for target in report.targets:
        own = [finding for finding in report.shown if finding.target == target.name]
        shown = [finding for finding in own if not (_is_break(finding) or is_about_coverage(finding))]
        unrun = tuple(finding for finding in own if is_about_coverage(finding))
        yield Part(target, tuple(_headed(causes(shown, target))), tuple(filter(_is_break, own)), unrun)
    tried = {target.name for target in report.targets}
    if beside := [finding for finding in report.shown if finding.target not in tried]:
        yield Part(None, tuple(Cause((finding,)) for finding in beside))


def _headed(groups: list[list[Finding]]) -> Iterator[Cause]:
    for number, group in enumerate(groups, 1):
        places = f", {len(group)} places" if len(group) > 1 else ""
        head = f"cause {number} of {len(groups)}: {group[0].rule}{places}" if len(groups) > 1 or places else ""
        yield Cause(tuple(group), head)


def causes(findings: Iterable[Finding], target: TargetReport) -> list[list[Finding]]:
    """The target's findings, those of one cause together; causes and findings with the most decisive one first."""
    own = sorted((finding for finding in findings if finding.target == target.name), key=_key_of_cause)
    groups = [sorted(group, key=lambda f: _weight(f, target)) for _, group in groupby(own, key=_key_of_cause)]
    return sorted(groups, key=lambda group: _weight(group[0], target))


def breaks_in_words(part: Part) -> str:
    """Each place of the breaks that are no cause, with the id that `exportlint explain` takes.

    Others stand above, at lines that are refused; they are counted here too, as the ladder counts them.
    """
    causes = {(finding.path, finding.line) for cause in part.causes for finding in cause.findings}
    beside = [one for one in part.breaks if (one.path, one.line) not in causes]
    shown = []
    for one in beside[:_MOST_PLACES]:
        ids = [link.id for link in one.links if link.kind == "graph-break"]
        shown.append(f"{one.path}:{one.line}" + (f" ({', '.join(ids)})" if ids else ""))
    places = {(one.path, one.line) for one in beside}
    above = len(_break_places(part.target) - places)
    number = len(places) + above
    told = [f"{above} of them stand{'s' if above == 1 else ''} above"] if above else []
    told += [", ".join(shown)] if shown else []
    more = ", … (--output-format concise lists them)" if len(beside) > _MOST_PLACES else ""
    return f"torch.compile would break the graph at {number} place{'' if number == 1 else 's'}: {'; '.join(told)}{more}"


def _break_places(target: TargetReport | None) -> set[tuple[str, int]]:
    """Where torch.compile breaks the graph, as findings name places."""
    broken = target.compilation.graph_breaks if target else ()
    return {(Path(os.path.relpath(one.path)).as_posix(), one.line) for one in broken if one.path and one.line}


def never_ran_in_words(number: int) -> str:
    """Of the regions that no sample reached."""
    regions = "1 region" if number == 1 else f"{number} regions"
    return f"the samples never ran {regions} of the code, so nothing is known there"


def is_about_coverage(finding: Finding) -> bool:
    """Is it about lines that no sample ran?"""
    return finding.rule == NEVER_RAN


def names_only_its_stage(finding: Finding) -> bool:
    """Does no rule know it, so that it is called by the stage that found it?"""
    return finding.stage is not None and finding.rule == stage_named(finding.stage).rule


def _is_break(finding: Finding) -> bool:
    return (
        finding.severity is Severity.NOTE
        and finding.stage is not None
        and stage_named(finding.stage).kind is StageKind.INFORM
    )


def _key_of_cause(finding: Finding) -> tuple[str, str]:
    """The rule; of what no rule knows the stage and the message, since one stage can fail for many causes. Notes that
    say the same of several names are one."""
    if not names_only_its_stage(finding):
        return finding.rule, ""
    is_note = finding.severity is Severity.NOTE
    return finding.rule, _QUOTED.sub("", finding.message) if is_note else finding.message


def _weight(finding: Finding, target: TargetReport) -> tuple[object, ...]:
    """What fails before what is suspected, what fails early before what fails late: it hides what comes after."""
    stages = [stage.name for stage in target.stages]
    stage = stages.index(finding.stage) if finding.stage in stages else len(stages)
    return finding.severity.rank, finding.evidence not in _TRIED, stage, finding.sort_key
