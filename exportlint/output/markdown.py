"""The job summary: the same report as Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tabulate import tabulate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.finding import Finding
    from exportlint.output.report import Report

MOST = 500  # GitHub refuses a summary of more than 1 MiB


def render(report: Report) -> str:
    return "\n\n".join(_blocks(report)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield "## exportlint"
    yield cell(report.headline)
    if report.problems:
        yield table(["not checked", "why"], [(f"`{p.path}`", p.message) for p in report.problems])
    findings = sorted(report.shown, key=lambda finding: finding.severity.rank)
    if findings:
        yield table(
            ["severity", "rule", "place", "what", "instead"], [_row(finding, report) for finding in findings[:MOST]]
        )
    if more := len(findings[MOST:]):
        yield f"{more} more findings are left out here."
    for target in report.targets:
        yield f"### target {cell(target.name)}"
        rows = [(stage.name, stage.status, f"{stage.seconds:.2f}", stage.detail) for stage in target.stages]
        yield table(["stage", "status", "seconds", "detail"], rows)


def _row(finding: Finding, report: Report) -> tuple[str, ...]:
    instead = finding.fix.description if finding.fix else ""
    place = f"`{finding.path}:{finding.line}:{finding.column}`"
    return finding.severity.value + report.aside(finding), finding.rule, place, finding.message, instead


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of plain text: what the cells hold cannot break out of them."""
    return tabulate([[cell(text) for text in row] for row in rows], headers, tablefmt="github", disable_numparse=True)


def cell(text: str) -> str:
    """Plain text for a Markdown cell; what stands in backticks stays code, where entities are not decoded."""
    one_line = " ".join(text.split()).replace("|", "\\|")
    parts = one_line.split("`")
    balanced = len(parts) % 2 == 1
    return "`".join(part if balanced and number % 2 else _plain(part) for number, part in enumerate(parts))


def _plain(text: str) -> str:
    for char, escaped in {"&": "&amp;", "<": "&lt;", "*": "\\*", "__": "\\_\\_"}.items():
        text = text.replace(char, escaped)
    return text
