"""What judging one file gave, in a form that can be kept on disk and sent between processes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Span = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class Told:
    """What a rule said. `path` is absolute: a file's forward also runs functions of other files."""

    path: str
    rule: str
    case: str
    place: Span  # lines and columns from 1, end column exclusive
    message: str
    instead: str
    at_most: str
    links: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that follows from one file and the files it leads to, whoever else is checked beside it.

    wrong      what kept the file from being judged, as (line, message)
    failed     errors of ours while judging it
    read       files that were opened -> digest of their content, None for what could not be read
    probed     other paths that were looked for -> were they there
    left_out   files with functions that it runs and that nobody asked about
    """

    path: str
    told: tuple[Told, ...] = ()
    wrong: tuple[tuple[int | None, str], ...] = ()
    failed: tuple[str, ...] = ()
    read: dict[str, str | None] = field(default_factory=dict)
    probed: dict[str, bool] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def plain(self) -> list[Any]:
        """As lists and strings, for JSON."""
        told = [[t.path, t.rule, t.case, t.place, t.message, t.instead, t.at_most, t.links] for t in self.told]
        there = [path for path, known in self.probed.items() if known]
        absent = [path for path, known in self.probed.items() if not known]
        return [told, self.wrong, list(self.read.items()), there, absent, self.left_out]


def from_plain(path: str, data: list[Any]) -> Judgement:
    """The inverse of `plain`. Raises ValueError, TypeError or IndexError for data of another form."""
    told, wrong, read, there, absent, left_out = data
    return Judgement(
        path,
        tuple(_told(*entry) for entry in told),
        tuple((line, message) for line, message in wrong),
        read=dict(read),
        probed={**dict.fromkeys(there, True), **dict.fromkeys(absent, False)},
        left_out=tuple(left_out),
    )


def _told(
    path: str, rule: str, case: str, place: list[int], message: str, instead: str, at_most: str, links: Any
) -> Told:
    line, column, end_line, end_column = place
    pages = tuple((kind, name, url) for kind, name, url in links)
    return Told(path, rule, case, (line, column, end_line, end_column), message, instead, at_most, pages)
