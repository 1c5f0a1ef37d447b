"""Make a note of each region that the samples of trials never ran."""

from __future__ import annotations

import linecache
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding, Severity, fingerprint
from exportlint.trial.findings.classify import shown
from exportlint.trial.findings.coverage.never_ran import never_ran
from exportlint.trial.findings.wording.coverage_messages import region_message
from exportlint.trial.protocol.stages import EAGER, NEVER_RAN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from exportlint.trial.findings.coverage.never_ran import Region
    from exportlint.trial.protocol.result import TargetReport


def coverage_findings(reports: Sequence[TargetReport], root: Path) -> list[Finding]:
    """One a region, at its first line, of the targets that ran in eager; never more than a note."""
    ran = [report for report in reports if (eager := report.stage(EAGER.name)) and eager.passed]
    return [_finding(report, region, root) for report, region in never_ran(ran)]


def lines_of(unrun: Iterable[Finding]) -> dict[str, frozenset[int]]:
    """The lines of the regions, by path."""
    found: dict[str, set[int]] = {}
    for one in unrun:
        found.setdefault(one.path, set()).update(range(one.line, one.end_line + 1))
    return {path: frozenset(lines) for path, lines in found.items()}


def _finding(report: TargetReport, region: Region, root: Path) -> Finding:
    path = shown(str(Path(region.path).resolve()), root)
    first, last = (linecache.getline(region.path, line).rstrip() for line in (region.line, region.end_line))
    return Finding(
        NEVER_RAN,
        path,
        region.line,
        len(first) - len(first.lstrip()) + 1,
        region.end_line,
        len(last) + 1,
        Severity.NOTE,
        region_message(region),
        Evidence.DISCOVERED,
        {},
        report.name,
        EAGER.name,
        fingerprint=fingerprint(NEVER_RAN, path, first),
    )
