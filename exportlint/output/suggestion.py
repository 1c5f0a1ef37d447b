"""The lines that a fix changes, as they are and as they would be, for formats that show no more than a few lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.edited_source import edited

if TYPE_CHECKING:
    from exportlint.finding import Edit, Fix


Source = Callable[[str, int], "str | None"]


def suggested_lines(fix: Fix, source: Source) -> list[str]:
    """Each changed stretch of lines, `-` before the old and `+` before the new ones.

    source   gives a line of a file, None where there is none
    """
    shown: list[str] = []
    for edits in _stretches(fix):
        first, last = edits[0].start[0], max(edit.end[0] for edit in edits)
        old = [source(edits[0].path, number) or "" for number in range(first, last + 1)]
        moved = [
            replace(
                edit,
                start=(edit.start[0] - first + 1, edit.start[1]),
                end=(edit.end[0] - first + 1, edit.end[1]),
            )
            for edit in edits
        ]
        new = edited("\n".join(old), moved).split("\n")
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        while old and new and old[0] == new[0]:
            old, new = old[1:], new[1:]
        shown += [*(f"- {line}" for line in old), *(f"+ {line}" for line in new)]
    return shown


def _stretches(fix: Fix) -> list[list[Edit]]:
    """Edits that share a line stand together."""
    found: list[list[Edit]] = []
    for edit in sorted(fix.edits, key=lambda one: (one.path, one.start, one.end)):
        last = found[-1][-1] if found else None
        if last and last.path == edit.path and edit.start[0] <= max(one.end[0] for one in found[-1]):
            found[-1].append(edit)
        else:
            found.append([edit])
    return found
