"""The rewrites that are known of a finding: what each is, whether it was tried, and its diff."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.finding import Applicability
from exportlint.output.background import KnownRewrite
from exportlint.output.rewrite_diff import diff_between, edited_texts, fenced, text_of
from exportlint.repair.wellformed import what_is_broken

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.finding import Finding, Fix
    from exportlint.output.report import Report

MOST_LINES = 56  # of all rewrites of a finding
_MOST, _MOST_DIFFS, _LONGEST_DIFF, _SHORTEST_DIFF = 8, 3, 44, 5
_AROUND_DIFF = 3  # lines: its fences, and what was cut of it


def known_rewrites(finding: Finding, report: Report) -> list[KnownRewrite]:
    """Those that a repair tried first, then those that only were proposed."""
    tried = list(report.background.tried(finding))
    told = {one.description for one in tried}
    proposed = finding.rewrites or ((finding.fix,) if finding.fix is not None and finding.fix.edits else ())
    rest = (fix for fix in proposed if fix.description not in told)
    ways = [*tried, *(_proposed(fix, report) for fix in rest)]
    return sorted(ways, key=lambda one: not one.diff)  # those of which nothing can be shown last


def _proposed(fix: Fix, report: Report) -> KnownRewrite:
    texts = {path: text_of(path, report.source) for path in {edit.path for edit in fix.edits}}
    new = edited_texts(fix.edits, texts)
    broken = what_is_broken(texts, new) if new and all(map(_is_python, texts.values())) else None
    outcome = [*_known_of(fix), *([f"as it stands it breaks the file: {broken}"] if broken else [])]
    return KnownRewrite(fix.description, "; ".join(outcome), () if broken else diff_between(texts, new))


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def _known_of(fix: Fix) -> Iterator[str]:
    yield fix.tried
    if fix.tried == _NOT_TRIED and fix.applicability is Applicability.SAFE:
        yield "right by construction, as its rule says"
    if fix.needs_python:
        yield "the program that it gives calls Python"
    if fix.both_sides_of:
        yield f"inputs have to take both sides of line {fix.both_sides_of} to show that it is right"


_NOT_TRIED = "not tried"


def rewrites_lines(finding: Finding, report: Report) -> Iterator[str]:
    """A line for each, and the diffs of the first ones, in at most `MOST_LINES`."""
    known = known_rewrites(finding, report)
    advice = list(_advice(finding, known))
    left = MOST_LINES - min(len(known), _MOST) - len(advice) - 1
    for number, one in enumerate(known[:_MOST]):
        yield f"{number + 1}. {' '.join(one.description.split()).rstrip('.')}: {one.outcome}"
        room = min(_LONGEST_DIFF, left - _AROUND_DIFF)
        if one.diff and number < _MOST_DIFFS and room >= min(_SHORTEST_DIFF, len(one.diff)):
            diff = list(fenced("diff", _cut(one.diff, room)))
            left -= len(diff)
            yield from diff
    if more := len(known[_MOST:]):
        yield f"… {more} more: `exportlint fix` on a target tries them"
    yield from advice
    if not known:
        yield "No edit is known. `exportlint fix`, where it has not run on a target yet, tries more than rules know."


def _advice(finding: Finding, known: Sequence[KnownRewrite]) -> Iterator[str]:
    """What the rule, or the trial, says in words."""
    if finding.fix is None or any(one.description == finding.fix.description for one in known):
        return
    first, *code = finding.fix.description.split("\n")
    yield f"Advice: {first}"
    if code:
        yield from fenced("python", _cut(code, _LONGEST_DIFF // 2))


def _cut(lines: Sequence[str], most: int) -> list[str]:
    left = len(lines) - most
    return [*lines[:most], f"… {left} more lines"] if left > 0 else list(lines)
