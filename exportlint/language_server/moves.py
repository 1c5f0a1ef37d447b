"""Where lines of a text are after an edit: findings of an older text keep their places until their own lines change."""

from __future__ import annotations

from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exportlint.finding import Finding


def moved(findings: Iterable[Finding], before: str, after: str) -> Iterator[Finding]:
    """The findings of `before` whose lines are in `after` as they were, where they stand there.

    >>> from exportlint.finding import Finding, Severity
    >>> found = Finding("a-rule", "net.py", 2, 5, 2, 9, Severity.ERROR, "")
    >>> [one.line for one in moved([found], "a\\nb", "new\\na\\nb")]
    [3]
    """
    if before == after:
        yield from findings
        return
    at = _kept_lines(before.split("\n"), after.split("\n"))
    for finding in findings:
        lines = [at.get(line) for line in range(finding.line, finding.end_line + 1)]
        first = lines[0]
        if first is not None and lines == list(range(first, first + len(lines))):
            yield replace(finding, line=first, end_line=first + len(lines) - 1)


def _kept_lines(before: Sequence[str], after: Sequence[str]) -> dict[int, int]:
    """Line -> line, both from 1. What is alike at both ends is set aside first: an edit is small, a file is not."""
    shorter = min(len(before), len(after))
    head = next((i for i in range(shorter) if before[i] != after[i]), shorter)
    tail = next((i for i in range(shorter - head) if before[-1 - i] != after[-1 - i]), shorter - head)
    kept = {line: line for line in range(1, head + 1)}
    kept |= {len(before) - i: len(after) - i for i in range(tail)}
    middle = SequenceMatcher(
        None, before[head : len(before) - tail], after[head : len(after) - tail], autojunk=False
    ).get_matching_blocks()
    for block in middle:
        kept |= {head + block.a + i + 1: head + block.b + i + 1 for i in range(block.size)}
    return kept
