"""The format `markdown`, a comment of a pull request, and the summary of a GitHub job: what a terminal shows, in the
same order, as tables, with a matrix where there are several targets, and the diffs of rewrites folded.

Both places refuse what is too long, so that of a large report the diffs go first, and then all but the worst findings.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from exportlint.output.rewrite_diff import diff_of, fenced
from exportlint.output.verdict import BESIDE, Cause, breaks_in_words, never_ran_in_words, parts, shown_seconds, verdict
from exportlint.trial.protocol.outcomes import COMPILED, PASSED, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from exportlint.finding import Finding
    from exportlint.output.report import RenderOptions, Report
    from exportlint.trial.protocol.result import StageResult, TargetReport


_COMMENT, _JOB_SUMMARY = 65_536, 1 << 20  # what GitHub takes: characters, bytes
_FEWER = ((500, True), (500, False), (100, False), (20, False), (0, False))  # findings, and are their diffs shown?
HEADS = ["severity", "rule", "place", "what", "instead"]


def render(report: Report, options: RenderOptions) -> str:
    del options  # a page has no width and no colour
    return _fitting(report, _COMMENT)


def job_summary(report: Report) -> str:
    """The same for a page that has more room."""
    return _fitting(report, _JOB_SUMMARY)


def _fitting(report: Report, most: int) -> str:
    for findings, diffs in _FEWER:
        text = "\n\n".join(_blocks(report, findings, diffs=diffs)) + "\n"
        if len(text.encode()) <= most:
            return text
    return f"## exportlint\n\n{cell(report.headline)}\n\nThe report is too long for this place.\n"


def _blocks(report: Report, most: int, *, diffs: bool) -> Iterator[str]:
    yield "## exportlint"
    yield cell(report.headline)
    if report.problems:
        yield table(["not checked", "why"], [(f"`{p.path}`", p.message) for p in report.problems])
    if len(report.targets) > 1:
        yield _matrix(report)
    kept = {id(finding) for finding in sorted(report.shown, key=lambda finding: finding.severity.rank)[:most]}
    for part in parts(report):
        if part.target:
            yield from _ladder(part.target, report)
        elif report.targets:
            yield f"### {BESIDE}"
        yield from _findings(part.causes, report, kept, diffs=diffs)
        if part.breaks:
            yield breaks_in_words(part)
        if part.never_ran:
            yield never_ran_in_words(len(part.never_ran))
    if more := len(report.shown[most:]):
        yield f"{more} more findings are left out here."
    if report.next_step:
        yield f"{cell(report.next_step.why)}:"
        yield _code("sh", report.next_step.command)


_MARKS = {PASSED: "✅", COMPILED: "✅ compiled", SKIPPED: "skipped"}


def _matrix(report: Report) -> str:
    """Targets by stages; a stage that is not on the ladder of a target is an empty cell."""
    stages = list(dict.fromkeys(stage.name for target in report.targets for stage in target.stages))
    rows = []
    for target in report.targets:
        did = {stage.name: _MARKS.get(stage.status, f"❌ {stage.status}") for stage in target.stages}
        rows.append((f"`{target.name}`", *(did.get(stage, "") for stage in stages)))
    return table(["target", *stages], rows)


def _ladder(target: TargetReport, report: Report) -> Iterator[str]:
    yield f"### target {cell(target.name + report.other_torch(target))}"
    if sentence := verdict(target, report.findings):
        yield cell(sentence)
    rows = [(stage.name, stage.status, shown_seconds(stage), _detail(stage)) for stage in target.stages]
    ladder = table(["stage", "status", "seconds", "detail"], rows)
    yield _folded("the stages", ladder) if len(report.targets) > 1 else ladder
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


def _findings(causes: Sequence[Cause], report: Report, kept: AbstractSet[int], *, diffs: bool) -> Iterator[str]:
    """A table for each cause that has a name, else one for all; below it the diffs of its rewrites, each once."""
    unnamed = [finding for cause in causes if not cause.head for finding in cause.findings]
    for cause in [cause for cause in causes if cause.head] or [Cause(tuple(unnamed))]:
        found = [finding for finding in cause.findings if id(finding) in kept]
        if found:
            yield from [f"**{cell(cause.head)}**"] if cause.head else []
            yield table(HEADS, [_row(finding, report) for finding in found])
        if diffs:
            yield from dict.fromkeys(text for finding in found if (text := _rewrite(finding, report)))


def _row(finding: Finding, report: Report) -> tuple[str, ...]:
    instead = finding.fix.description if finding.fix else ""
    place = f"`{finding.path}:{finding.line}:{finding.column}`"
    return finding.severity.value + report.label(finding), finding.rule, place, finding.message, instead


def _rewrite(finding: Finding, report: Report) -> str:
    fix = finding.fix
    diff = diff_of(fix, report.source) if fix else ()
    if not fix or not diff:
        return ""
    title = f"{finding.path}:{finding.line}: {fix.description} ({fix.tried})"
    return _folded(title, "\n".join(fenced("diff", diff)))


def _folded(title: str, text: str) -> str:
    """Markdown in a part of HTML stands apart from its tags by empty lines."""
    return f"<details><summary>{html.escape(' '.join(title.split()))}</summary>\n\n{text}\n\n</details>"


def _code(language: str, text: str) -> str:
    return "\n".join(fenced(language, text.split("\n")))


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
