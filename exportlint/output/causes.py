"""Which findings of a target have one cause, and which cause to look at first."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding

if TYPE_CHECKING:
    from collections.abc import Iterable

    from exportlint.output.report import Target

_TRIED = (Evidence.CONFIRMED, Evidence.DISCOVERED)


def causes(findings: Iterable[Finding], target: Target) -> list[list[Finding]]:
    """The target's findings, those of one cause together; causes and findings with the most decisive one first."""
    own = sorted((finding for finding in findings if finding.target == target.name), key=_cause)
    groups = [sorted(group, key=lambda f: _weight(f, target)) for _, group in groupby(own, key=_cause)]
    return sorted(groups, key=lambda group: _weight(group[0], target))


def _cause(finding: Finding) -> tuple[str, str]:
    """The rule; what no rule knows is called by its stage, and there the words tell the causes apart."""
    return finding.rule, finding.message if finding.rule == f"trial-{finding.stage}" else ""


def _weight(finding: Finding, target: Target) -> tuple[object, ...]:
    """What fails before what is suspected, what fails early before what fails late: it hides what comes after."""
    stages = [stage.name for stage in target.stages]
    stage = stages.index(finding.stage) if finding.stage in stages else len(stages)
    return finding.severity.rank, finding.evidence not in _TRIED, stage, finding.sort_key
