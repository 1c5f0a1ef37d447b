"""Apply edits to source text: formatting and comments around them stay as they are, byte for byte."""

from __future__ import annotations

from itertools import accumulate
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Replaced(Protocol):
    """`start` to `end` (line and column, both from 1, end exclusive) becomes `text`."""

    @property
    def start(self) -> tuple[int, int]: ...
    @property
    def end(self) -> tuple[int, int]: ...
    @property
    def text(self) -> str: ...


class OverlappingEditsError(ValueError):
    """Two edits change the same place; one of them has to wait for the next round."""


def overlap(edits: Iterable[Replaced]) -> bool:
    """Do two of them change the same place? Those that say the same are one, and two insertions have room."""
    spans = sorted({(one.start, one.end, one.text) for one in edits})
    ends = accumulate((end for _, end, _ in spans), max)
    pairs = zip(spans, spans[1:], ends, strict=False)
    return any(now[0] < end or (now[:2] == before[:2] and now[0] < now[1]) for before, now, end in pairs)


def edited(text: str, edits: Iterable[Replaced]) -> str:
    """The text after all edits; those that say the same are made once. Raises OverlappingEditsError.

    >>> from exportlint import Edit
    >>> edited("y = x.data\\n", [Edit("net.py", (1, 5), (1, 11), "x.detach()")])
    'y = x.detach()\\n'
    """
    if overlap(edits := tuple(edits)):
        raise OverlappingEditsError
    starts = _starts(text)
    pieces, done = [], 0
    for start, end, new in sorted({(_offset(starts, one.start), _offset(starts, one.end), one.text) for one in edits}):
        before = text[done:start]
        # At the end of a file whose last line has no line end.
        missing = "\n" if start == len(text) and start and text[-1] != "\n" and new.endswith("\n") else ""
        pieces += [before, missing, new]
        done = end
    return "".join([*pieces, text[done:]])


def _starts(text: str) -> Sequence[int]:
    """Where each line begins, and the end; lines end with \\n, as they do for findings."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    starts[-1] -= 1
    return starts


def _offset(starts: Sequence[int], place: tuple[int, int]) -> int:
    line, column = place
    return min(starts[min(line, len(starts)) - 1] + column - 1, starts[-1])
