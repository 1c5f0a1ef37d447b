"""The format `full`, for people: each target's ladder, then its findings by cause: source line, why, what instead.

What was asked for with --show or --coverage stands between the ladder and the findings, or behind them: the exported
program, the operators of a dry run, the lines that no sample ran. rich takes 50 ms to import, so it is imported where
something is printed: most runs of a commit hook find nothing.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Any

from exportlint.finding import Evidence, Finding
from exportlint.output.console import printed, text_console
from exportlint.output.verdict import (
    BESIDE,
    Cause,
    Part,
    breaks_in_words,
    names_only_its_stage,
    never_ran_in_words,
    parts,
    shown_seconds,
    verdict,
)
from exportlint.trial.protocol.frames import from_here
from exportlint.trial.protocol.operator_support import OperatorSupport
from exportlint.trial.protocol.outcomes import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from rich.console import Console
    from rich.text import Text

    from exportlint.output.report import RenderOptions, Report
    from exportlint.trial.protocol.compilation import CompilationReport
    from exportlint.trial.protocol.result import StageResult, TargetReport


_LEAST_WIDTH, _MOST_LINKS = 40, 3
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
        _print_ladder(console, part.target, report, shapes=not _says_shapes(part))
        if part.target.compilation.order:
            _print_compilation(console, part.target.compilation)
        if part.target.graph:
            _print_graph(console, part.target.graph)
        if report.also.operators:
            _print_operators(console, part.target)
    elif report.targets:
        console.print(BESIDE, style="headline", soft_wrap=True)
    for cause in part.causes:
        _print_cause(console, report, cause, links)
    more = "" if report.also.coverage else " (--coverage shows them)"
    told = [breaks_in_words(part)] if part.breaks else []
    told += [f"{never_ran_in_words(len(part.never_ran))}{more}"] if part.never_ran else []
    for sentence in told:
        _print_hanging(console, "", Text(sentence))
    if told:
        console.print()
    if report.also.coverage:
        _print_never_ran(console, report, part.never_ran)


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
        facts = [fact for fact in _facts_of(finding) if fact not in printed | links]
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


def _facts_of(finding: Finding) -> Iterator[tuple[str, str]]:
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
    most = len(finding.links) if names_only_its_stage(finding) else _MOST_LINKS
    for link in finding.links[:most]:
        yield _SEE, f"{link.kind} {link.id} {link.url}"
    if more := len(finding.links[most:]):
        yield _SEE, f"`exportlint explain {finding.rule}` for {more} more"


def _print_hanging(console: Console, prefix: str, text: Text) -> None:
    """Print `text` after `prefix`, later lines indented under the first; links and long names stay whole, and so do all
    lines of code, which stand below the first line."""
    room = max(_LEAST_WIDTH, console.width - len(prefix))
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


# The ladder: one line a stage, under the verdict.


def _print_ladder(console: Console, target: TargetReport, report: Report, *, shapes: bool = True) -> None:
    """Print the ladder of a target under its verdict. Without `shapes` its dynamic shapes are left out, as where a
    finding says them."""
    from rich.table import Table  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    console.print(f"target {target.name}{report.other_torch(target)}", style="headline", soft_wrap=True)
    if sentence := verdict(target, report.findings):
        console.print(f"  {sentence}", style="label", soft_wrap=True)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    for head in ("  stage", "status", "seconds", "detail"):
        table.add_column(
            head, justify="right" if head == "seconds" else "left", no_wrap=head != "detail", overflow="fold"
        )
    for stage in target.stages:
        if stage.status != SKIPPED or stage.support:
            status = Text(stage.status, style=f"status.{stage.status}")
            # Of a lowering, below the detail, how much of the program the target takes, unless the detail is that.
            detail = "\n".join(dict.fromkeys(line for line in (stage.brief_detail, stage.support) if line))
            table.add_row(f"  {stage.name}", status, shown_seconds(stage), Text(detail))
    console.print(table)
    for why, names in _skipped(target).items():
        console.print(f"  skipped: {', '.join(names)} ({why})", soft_wrap=True)
    if target.dynamic_shapes and shapes:
        _print_shapes(console, target.dynamic_shapes)
    for stage in target.stages:
        _print_beside(console, stage)
    console.print()


def _skipped(target: TargetReport) -> dict[str, list[str]]:
    """Why -> the stages that had nothing to do."""
    found: dict[str, list[str]] = {}
    for stage in target.stages:
        if stage.status == SKIPPED and not stage.support:
            found.setdefault(stage.brief_detail, []).append(stage.name)
    return found


def _print_beside(console: Console, stage: StageResult) -> None:
    if swapped := stage.data.get("swapped"):
        _print_swapped(console, swapped)
    for repro in stage.repros:
        console.print(f"  {stage.name} again: python {repro}", soft_wrap=True)
    if stage.artifact:
        console.print(f"  {stage.name} kept: {stage.artifact}", soft_wrap=True)


def _print_swapped(console: Console, swapped: Sequence[tuple[str, int, int]]) -> None:
    """How often each operator occurs that decompositions of the user's change."""
    from rich.table import Table  # noqa: PLC0415 (50 ms)

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    table.add_column("  operator")
    for head in ("torch's table", "yours"):
        table.add_column(head, justify="right")
    for name, before, after in swapped:
        table.add_row(f"  {name}", str(before), str(after))
    console.print(table)


def _print_shapes(console: Console, text: str) -> None:
    """On lines of their own, to be copied, where there are several."""
    if "\n" not in text:
        console.print(f"  dynamic shapes: {text}", soft_wrap=True)
        return
    console.print("  dynamic shapes:", style="label")
    for line in text.split("\n"):
        console.print(f"    {line}".rstrip(), soft_wrap=True)


# What torch.compile makes of the model: the graphs, and the breaks between them, in the order in which they came.


_MOST_ROWS = 40


def _print_compilation(console: Console, found: CompilationReport) -> None:
    from rich.table import Table  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    if not found.graph_breaks:
        return
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
    for head in ("  graphs and breaks", "operators", "time", "first line"):
        table.add_column(head, justify="right" if head in ("operators", "time") else "left", overflow="fold")
    known: set[int] = set()
    for what, number in found.order[:_MOST_ROWS]:
        if what == "graph":
            graph = found.graphs[number]
            share = "" if graph.share is None else f"{graph.share:.0%}"
            place = f"{graph.path}:{graph.line}" if graph.path else ""
            table.add_row(f"  graph {number + 1}", str(graph.operators), share, place)
        elif number not in known:  # a place that is met again was shown
            known.add(number)
            broken = found.graph_breaks[number]
            often = f", {broken.times} times" if broken.times > 1 else ""
            row = Text(f"  -- {broken.kind}{f' {broken.id}' if broken.id else ''}{often}", style="severity.warning")
            table.add_row(row, "", "", f"{broken.path}:{broken.line}" if broken.path else "no line")
    console.print(table)
    if (more := len(found.order) - _MOST_ROWS) > 0:
        console.print(f"  and {more} more (--output-format json has them all)", soft_wrap=True)
    console.print()


# The dry run of a lowering: each operator, and what the target would do with it.


def _print_operators(console: Console, target: TargetReport) -> None:
    """A table for each lowering that says what it would do with the operators."""
    from rich.table import Table  # noqa: PLC0415 (50 ms)
    from rich.text import Text  # noqa: PLC0415

    for stage in target.stages:
        support = OperatorSupport.from_dict(stage.data.get("operators", {})) if stage.row.lowering else None
        if support is None or not support.rows:
            continue
        console.print(f"  operators of {stage.name}", style="headline", soft_wrap=True)
        table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="label")
        for head in ("  operator", "count", "support", "first line", "reason"):
            table.add_column(head, justify="right" if head == "count" else "left", overflow="fold")
        for row in support.in_order:
            how = Text(row.support, style=f"support.{row.support}")
            place = f"{from_here(row.path)}:{row.line}" if row.path else ""
            table.add_row(f"  {row.name}", str(row.count), how, place, Text(row.reason))
        console.print(table)
        console.print()


# The exported program, by source line; `trial/child/stages/graph.py` describes the data.


def _print_graph(console: Console, graph: Mapping[str, Any]) -> None:
    from rich.text import Text  # noqa: PLC0415 (50 ms)

    operations = [operation for _, blocks in graph["graphs"] for _, _, block in blocks for operation in block]
    head = f"  exported program ({graph['mode']}): {len(operations)} operations"
    console.print(head, style="headline", soft_wrap=True)
    for label, items in graph_facts(graph):
        for number, item in enumerate(items):
            start = "" if number else label
            console.print(Text.assemble((f"  {start:<12}", "label"), item), soft_wrap=True)
    written_out = graph.get("written_out")
    for name, blocks in (*graph["graphs"], *([("the functional graph", written_out)] if written_out else [])):
        if name:
            console.print(f"  {name}", style="label", soft_wrap=True)
        for place, source, block in blocks:
            console.print(Text.assemble((f"  {_place_in_words(place)}", "gutter"), f"  {source}"), soft_wrap=True)
            for operation in block:
                console.print(f"      {_operation(*operation)}", soft_wrap=True)
    console.print()


def graph_facts(graph: Mapping[str, Any]) -> Iterator[tuple[str, Iterable[str]]]:
    """What there is to say of the program beside its operations: label and sentences."""
    yield "inputs", (_typed(*item) for item in graph["inputs"])
    yield "ranges", graph["ranges"]
    yield "lifted", (f"{kind} {_typed(name, type_)}{_at(place)}" for kind, name, type_, place in graph["lifted"])
    yield "mutated", (f"{kind} {name}{_at(place)}" for kind, name, place in graph["mutated"])
    replaced = ((old, f"becomes {new}" if new else "is not needed", place) for old, new, place in graph["functional"])
    yield "functional", (f"{old} {what}{_at(place)}" for old, what, place in replaced)
    yield "returns", (" ".join(filter(None, (key, _typed(name, type_)))) for name, type_, key in graph["outputs"])


def _typed(name: str, type_: str) -> str:
    return f"{name}: {type_}" if type_ else name


def _operation(name: str, type_: str, call: str, in_place: bool) -> str:
    return f"{_typed(name, type_)} = {call}{'  (in place)' if in_place else ''}"


def _at(place: list[Any] | None) -> str:
    return f" at {_place_in_words(place)}" if place else ""


def _place_in_words(place: list[Any] | None) -> str:
    return f"{from_here(place[0])}:{place[1]}" if place else "no line"


# What the samples never ran.


# Lines of a long region: its first ones say what it is.
_MOST_LINES = 12
_BEFORE = 2
_UNRUN = "!"


def _print_never_ran(console: Console, report: Report, regions: Sequence[Finding]) -> None:
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
        yield _numbered(report, region.path, number, " ")
    last = min(region.end_line, region.line + _MOST_LINES - 1)
    for number in range(region.line, last + 1):
        yield _numbered(report, region.path, number, _UNRUN)
        for rule in _suspected(report, region.path, number):
            yield f"{'':6}   | suspected, not known: {rule}", ""
    if last < region.end_line:
        yield f"{'':6} {_UNRUN} | … to line {region.end_line}", _UNRUN
    yield f"{'':6}   = {region.message}", ""


def _numbered(report: Report, path: str, number: int, mark: str) -> tuple[str, str]:
    return f"{number:>6} {mark} | {report.source(path, number) or ''}".rstrip(), mark


def _suspected(report: Report, path: str, line: int) -> list[str]:
    every = (*report.findings, *report.unreached)
    return [f.rule for f in every if f.evidence is Evidence.SUSPECTED and (f.path, f.line) == (path, line)]
