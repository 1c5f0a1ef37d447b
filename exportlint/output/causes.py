"""Order a report as it is read: target by target, cause by cause, the most decisive first."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding, Severity
from exportlint.trial.protocol.stages import NEVER_RAN, StageKind, stage_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exportlint.output.report import Report
    from exportlint.trial.protocol.result import TargetReport


_NAME = re.compile(r"'[^']*'|`[^`]*`")
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
    own = sorted((finding for finding in findings if finding.target == target.name), key=_cause)
    groups = [sorted(group, key=lambda f: _weight(f, target)) for _, group in groupby(own, key=_cause)]
    return sorted(groups, key=lambda group: _weight(group[0], target))


def breaks_in_words(breaks: Sequence[Finding]) -> str:
    """Of the breaks that are no cause: each place, with the id that `exportlint explain` takes."""
    number = len(breaks)
    places = ", ".join(f"{one.path}:{one.line}{_ids(one)}" for one in breaks[:_MOST_PLACES])
    more = ", … (--output-format concise lists them)" if number > _MOST_PLACES else ""
    return f"torch.compile would break the graph at {number} place{'' if number == 1 else 's'}: {places}{more}"


def _ids(one: Finding) -> str:
    ids = [link.id for link in one.links if link.kind == "graph-break"]
    return f" ({', '.join(ids)})" if ids else ""


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


def _cause(finding: Finding) -> tuple[str, str]:
    """The rule; of what no rule knows the stage and the message, since one stage can fail for many causes. Notes that
    say the same of several names are one."""
    if not names_only_its_stage(finding):
        return finding.rule, ""
    is_note = finding.severity is Severity.NOTE
    return finding.rule, _NAME.sub("", finding.message) if is_note else finding.message


def _weight(finding: Finding, target: TargetReport) -> tuple[object, ...]:
    """What fails before what is suspected, what fails early before what fails late: it hides what comes after."""
    stages = [stage.name for stage in target.stages]
    stage = stages.index(finding.stage) if finding.stage in stages else len(stages)
    return finding.severity.rank, finding.evidence not in _TRIED, stage, finding.sort_key
