"""The function around a place as numbered lines, with what is believed of its names; of a long one what matters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.output.rewrite_diff import text_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from exportlint.finding import Finding
    from exportlint.output.report import Report

WHOLE = 60  # lines of a function that is shown as a whole
_AROUND = 12  # lines on either side of a place that stands in no function
_WIDEST, _WIDEST_NOTE = 200, 240


def clipped(text: str, most: int) -> str:
    """At most so many letters, the last of which says that there were more."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listing(findings: Sequence[Finding], report: Report, notes: Mapping[int, Sequence[str]], most: int) -> list[str]:
    """At most so many lines of the function around the first finding. `>` marks the places of all, `# [name: …]` is
    what is believed of a name; `notes` has it by line, and these lines are shown first."""
    first = findings[0]
    text = text_of(first.path, report.source)
    last = text.count("\n") + 1
    if not text or not 0 < first.line <= last:
        return []
    span = _span(text, first.line, last)
    places = {one.line for one in findings if one.path == first.path and one.line in span}
    beside = [line for line in notes if 0 < line <= last]
    lines = sorted(_chosen(span, [first.line, span.start, *sorted(places), *sorted(beside)], most))
    shown = [_numbered(report.source(first.path, n) or "", n, n in places, notes.get(n, ())) for n in lines]
    return [*_with_gaps(lines, shown), *_gap(span.stop - 1 - lines[-1])]


def _span(text: str, line: int, last: int) -> range:
    """The lines of the innermost function around the line, decorators included; else some before and behind it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return range(max(1, line - _AROUND), min(last, line + _AROUND) + 1)
    around = [
        range(min([node.lineno, *(one.lineno for one in node.decorator_list)]), (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    inside = [span for span in around if line in span]
    return min(inside, key=len, default=range(max(1, line - _AROUND), min(last, line + _AROUND) + 1))


def _chosen(span: range, wanted: Sequence[int], most: int) -> Collection[int]:
    """Those that are wanted, the first ones first, then the nearest to the first of them; a gap counts as a line."""
    chosen: set[int] = set()
    for line in (*wanted, *sorted(span, key=lambda one: abs(one - wanted[0]))):
        tried = {*chosen, line}
        if not chosen or len(tried) + _gaps(tried, span) <= most:
            chosen = tried
    return chosen


def _gaps(lines: Collection[int], span: range) -> int:
    inside = sum(one + 1 not in lines for one in lines) - 1
    return inside + (max(lines) < span.stop - 1)


def _with_gaps(lines: Sequence[int], shown: Sequence[str]) -> Iterator[str]:
    for before, line, text in zip((lines[0] - 1, *lines), lines, shown, strict=False):
        yield from _gap(line - before - 1)
        yield text


def _gap(number: int) -> list[str]:
    return [f"        … {number} more line{'' if number == 1 else 's'}"] if number > 0 else []


def _numbered(code: str, number: int, is_place: bool, notes: Sequence[str]) -> str:
    told = f"  # [{clipped('; '.join(notes), _WIDEST_NOTE)}]" if notes else ""
    return f"{'>' if is_place else ' '} {number:>5} | {clipped(code.rstrip(), _WIDEST)}{told}".rstrip()
