"""The format `full`, for people: each target's ladder, then its findings by cause: source line, why, what instead."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from exportlint.finding import Evidence, Finding
from exportlint.output.causes import (
    BESIDE,
    Cause,
    Part,
    breaks_in_words,
    names_only_its_stage,
    never_ran_in_words,
    parts,
)
from exportlint.output.console import printed, text_console
from exportlint.output.graph import print_graph
from exportlint.output.lowerings.operator_table import print_operators
from exportlint.output.trials.coverage_listing import print_never_ran
from exportlint.output.trials.ladder_table import print_ladder

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console
    from rich.text import Text

    from exportlint.output.report import RenderOptions, Report


LEAST, MOST_LINKS = 40, 3
_SEE = "see"


def render(report: Report, options: RenderOptions) -> str:
    if not (report.shown or report.targets):
        return report.headline + "\n"  # the common case on every commit needs no rich
    console, file = text_console(options)
    links = set[tuple[str, str]]()
    for part in parts(report):
        _print_part(console, report, part, links)
    console.print(report.headline, style="headline", soft_wrap=True)
    if options.statistics:
        for rule, number in report.per_rule():
            console.print(f"{number:>6}  {rule}")
    if report.next_step:
        console.print(f"{report.next_step.why}:", style="label", soft_wrap=True)
        console.print(f"  {report.next_step.command}", soft_wrap=True)
    return printed(file)


def _print_part(console: Console, report: Report, part: Part, links: set[tuple[str, str]]) -> None:
    from rich.text import Text  # noqa: PLC0415

    if part.target:
        print_ladder(console, part.target, report.other_torch(part.target), shapes=not _says_shapes(part))
        if part.target.graph:
            print_graph(console, part.target.graph)
        if report.also.operators:
            print_operators(console, part.target)
    elif report.targets:
        console.print(BESIDE, style="headline", soft_wrap=True)
    for cause in part.causes:
        _print_cause(console, report, cause, links)
    more = "" if report.also.coverage else " (--coverage shows them)"
    told = [breaks_in_words(part.breaks)] if part.breaks else []
    told += [f"{never_ran_in_words(len(part.never_ran))}{more}"] if part.never_ran else []
    for sentence in told:
        _print_hanging(console, "", Text(sentence))
    if told:
        console.print()
    if report.also.coverage:
        print_never_ran(console, report, part.never_ran)


def _says_shapes(part: Part) -> bool:
    """Does a finding of the target hold its dynamic shapes, as what to write?"""
    shapes = part.target.dynamic_shapes if part.target else None
    fixes = (finding.fix for cause in part.causes for finding in cause.findings)
    return bool(shapes) and any(fix is not None and str(shapes) in fix.description for fix in fixes)


def _print_cause(console: Console, report: Report, cause: Cause, links: set[tuple[str, str]]) -> None:
    """`links`: the pages that the report has named so far, each once."""
    if cause.head:
        console.print(cause.head, style="headline", soft_wrap=True)
    printed: set[tuple[str, str]] = set()
    for finding in cause.findings:
        facts = [fact for fact in _facts(finding) if fact not in printed | links]
        _print_finding(console, finding, report, facts)
        printed.update(facts)
        links.update(fact for fact in facts if fact[0] == _SEE)


def _print_finding(console: Console, finding: Finding, report: Report, facts: list[tuple[str, str]]) -> None:
    """Print one finding, with those of its facts that do not stand above it."""
    from rich.text import Text  # noqa: PLC0415

    severity = (finding.severity.value, f"severity.{finding.severity.value}")
    title = f"[{finding.rule}]{report.label(finding)} "
    _print_hanging(console, "", Text.assemble(severity, title, (finding.message, "label")))
    gutter = " " * len(str(finding.line))
    place = f"{finding.path}:{finding.line}:{finding.column}"
    console.print(Text.assemble((f"{gutter}--> ", "gutter"), place), soft_wrap=True)
    _print_source(console, finding, report.source(finding.path, finding.line))
    for label, text in facts:
        _print_hanging(console, f"{gutter} = ", Text.assemble((f"{label}: ", "label"), text))
    console.print()


def _print_source(console: Console, finding: Finding, line: str | None) -> None:
    from rich.cells import cell_len  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    if not line:  # none, or nothing to point at
        return
    number = str(finding.line)
    end = finding.end_column - 1 if finding.end_line == finding.line else len(line.rstrip())
    before, marked = line[: finding.column - 1], line[finding.column - 1 : end]
    # The same tabs below as above, so that the caret stands right whatever a tab is worth.
    pad = "".join("\t" if char == "\t" else " " * cell_len(char) for char in before)
    caret = (pad + "^" * max(1, cell_len(marked)), f"severity.{finding.severity.value}")
    for head, body in ((" " * len(number), ""), (number, line.rstrip()), (" " * len(number), caret)):
        text = Text.assemble((f"{head} | ", "gutter"), body, tab_size=4)
        console.print(text, soft_wrap=True)


def _facts(finding: Finding) -> Iterator[tuple[str, str]]:
    """What is known beside the message, each as label and text."""
    if finding.effect and finding.evidence is not Evidence.SUSPECTED:
        outcomes = ", ".join(f"{outcome} in {mode}" for mode, outcome in finding.effect.items())
        yield "measured", outcomes
    if finding.evidence is not Evidence.SUSPECTED:
        where = [f"target {finding.target}"] if finding.target else []
        where += [f"stage {finding.stage}"] if finding.stage else []
        yield finding.evidence.value, ", ".join(where) or "by a trial"
    if finding.fix:
        tried = "" if finding.fix.tried == "not tried" else f" ({finding.fix.tried})"
        yield f"instead{tried}", finding.fix.description
    most = len(finding.links) if names_only_its_stage(finding) else MOST_LINKS
    for link in finding.links[:most]:
        yield _SEE, f"{link.kind} {link.id} {link.url}"
    if more := len(finding.links[most:]):
        yield _SEE, f"`exportlint explain {finding.rule}` for {more} more"


def _print_hanging(console: Console, prefix: str, text: Text) -> None:
    """Print `text` after `prefix`, later lines indented under the first; links and long names stay whole, and so do all
    lines of code, which stand below the first line."""
    room = max(LEAST, console.width - len(prefix))
    first, *code = text.split("\n")
    lines = [*first.divide(_breaks(first.plain, room)), *code]
    for number, line in enumerate(lines):
        line.rstrip()
        console.print(prefix if not number else " " * len(prefix), line, sep="", soft_wrap=True)


def _breaks(text: str, room: int) -> Iterator[int]:
    """Where to go to a new line: between words only, which rich's own wrapping does not keep to."""
    from rich.cells import cell_len  # noqa: PLC0415

    start = 0
    for word in re.finditer(r"\S+", text):
        if word.start() > start and cell_len(text[start : word.end()]) > room:
            start = word.start()
            yield start
