"""The job summary: what a terminal shows, in the same order, as Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.output.verdict import BESIDE, Cause, breaks_in_words, never_ran_in_words, parts, shown_seconds

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from exportlint.finding import Finding
    from exportlint.output.report import Report
    from exportlint.trial.protocol.result import StageResult, TargetReport


MOST = 500  # GitHub refuses a summary of more than 1 MiB
HEADS = ["severity", "rule", "place", "what", "instead"]


def render(report: Report) -> str:
    return "\n\n".join(_blocks(report)) + "\n"


def _blocks(report: Report) -> Iterator[str]:
    yield "## exportlint"
    yield cell(report.headline)
    if report.problems:
        yield table(["not checked", "why"], [(f"`{p.path}`", p.message) for p in report.problems])
    kept = {id(finding) for finding in sorted(report.shown, key=lambda finding: finding.severity.rank)[:MOST]}
    for part in parts(report):
        if part.target:
            yield from _ladder(part.target, report)
        elif report.targets:
            yield f"### {BESIDE}"
        yield from _findings(part.causes, report, kept)
        if part.breaks:
            yield breaks_in_words(part)
        if part.never_ran:
            yield never_ran_in_words(len(part.never_ran))
    if more := len(report.shown[MOST:]):
        yield f"{more} more findings are left out here."
    if report.next_step:
        yield f"{cell(report.next_step.why)}:"
        yield _code("sh", report.next_step.command)


def _ladder(target: TargetReport, report: Report) -> Iterator[str]:
    yield f"### target {cell(target.name + report.other_torch(target))}"
    rows = [(stage.name, stage.status, shown_seconds(stage), _detail(stage)) for stage in target.stages]
    yield table(["stage", "status", "seconds", "detail"], rows)
    if target.dynamic_shapes:
        yield "dynamic shapes:"
        yield _code("python", target.dynamic_shapes)
    if again := [(stage.name, f"`python {repro}`") for stage in target.stages for repro in stage.repros]:
        yield table(["stage", "again"], again)
    if kept := [(stage.name, f"`{stage.artifact}`") for stage in target.stages if stage.artifact]:
        yield table(["stage", "kept"], kept)


def _detail(stage: StageResult) -> str:
    more = stage.support and stage.support != stage.full_detail
    return f"{stage.full_detail} ({stage.support})" if more else stage.full_detail


def _findings(causes: Sequence[Cause], report: Report, kept: AbstractSet[int]) -> Iterator[str]:
    """A table for each cause that has a name, else one for all."""
    unnamed = [finding for cause in causes if not cause.head for finding in cause.findings]
    for cause in [cause for cause in causes if cause.head] or [Cause(tuple(unnamed))]:
        if rows := [_row(finding, report) for finding in cause.findings if id(finding) in kept]:
            yield from [f"**{cell(cause.head)}**"] if cause.head else []
            yield table(HEADS, rows)


def _row(finding: Finding, report: Report) -> tuple[str, ...]:
    instead = finding.fix.description if finding.fix else ""
    place = f"`{finding.path}:{finding.line}:{finding.column}`"
    return finding.severity.value + report.label(finding), finding.rule, place, finding.message, instead


def _code(language: str, text: str) -> str:
    """A block that its own text cannot end."""
    fence = "````" if "```" in text else "```"
    return f"{fence}{language}\n{text}\n{fence}"


def table(headers: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table of plain text: what the cells hold cannot break out of them."""
    from tabulate import tabulate  # noqa: PLC0415 (most reports hold no table)

    return tabulate([[cell(text) for text in row] for row in rows], headers, tablefmt="github", disable_numparse=True)


def cell(text: str) -> str:
    """Plain text for a Markdown cell; what stands in backticks stays code, where entities are not decoded."""
    one_line = " ".join(text.split()).replace("|", "\\|")
    pieces = one_line.split("`")
    balanced = len(pieces) % 2 == 1
    return "`".join(piece if balanced and number % 2 else _plain(piece) for number, piece in enumerate(pieces))


def _plain(text: str) -> str:
    for char, escaped in {"&": "&amp;", "<": "&lt;", "*": "\\*", "__": "\\_\\_"}.items():
        text = text.replace(char, escaped)
    return text
