"""Show in the source which lines the samples of a trial never ran, and what is suspected there."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING

from exportlint.finding import Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Console

    from exportlint.finding import Finding
    from exportlint.output.report import Report


# Lines of a long region: its first ones say what it is.
_MOST = 12
_BEFORE = 2
_UNRUN = "!"


def print_never_ran(console: Console, report: Report, regions: Sequence[Finding]) -> None:
    """Each region with the lines before it; `!` marks what never ran."""
    for path, group in groupby(regions, key=lambda finding: finding.path):
        console.print(path, style="headline", soft_wrap=True)
        done = 0
        for region in group:
            for line, mark in _listing(report, region, done):
                console.print(line, soft_wrap=True, style="severity.note" if mark == _UNRUN else None)
            done = region.end_line
        console.print()


def _listing(report: Report, region: Finding, done: int) -> Iterator[tuple[str, str]]:
    """Lines with their marks. `done`: the last line that was shown."""
    for number in range(max(done + 1, region.line - _BEFORE), region.line):
        yield _source(report, region.path, number, " ")
    last = min(region.end_line, region.line + _MOST - 1)
    for number in range(region.line, last + 1):
        yield _source(report, region.path, number, _UNRUN)
        for rule in _suspected(report, region.path, number):
            yield f"{'':6}   | suspected, not known: {rule}", ""
    if last < region.end_line:
        yield f"{'':6} {_UNRUN} | … to line {region.end_line}", _UNRUN
    yield f"{'':6}   = {region.message}", ""


def _source(report: Report, path: str, number: int, mark: str) -> tuple[str, str]:
    return f"{number:>6} {mark} | {report.source(path, number) or ''}".rstrip(), mark


def _suspected(report: Report, path: str, line: int) -> list[str]:
    every = (*report.findings, *report.unreached)
    return [f.rule for f in every if f.evidence is Evidence.SUSPECTED and (f.path, f.line) == (path, line)]
