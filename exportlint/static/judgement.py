"""What judging one file gave, in a form that can be kept on disk and sent between processes."""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from typing import Any

from exportlint.finding import Applicability, Link, Severity
from exportlint.rule.suspicion import Place, Replacement, SuspectedRewrite, Suspicion


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
    suspicions: tuple[Suspicion, ...] = ()
    wrong: tuple[tuple[int | None, str], ...] = ()
    failed: tuple[str, ...] = ()
    read: dict[str, str | None] = field(default_factory=dict)
    probed: dict[str, bool] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def plain(self) -> list[Any]:
        """As lists and strings, for JSON."""
        there = [path for path, known in self.probed.items() if known]
        absent = [path for path, known in self.probed.items() if not known]
        suspicions = [astuple(one) for one in self.suspicions]
        return [suspicions, self.wrong, list(self.read.items()), there, absent, self.left_out]


def from_plain(path: str, data: list[Any]) -> Judgement:
    """The inverse of `plain`. Raises ValueError, TypeError or IndexError for data of another form."""
    suspicions, wrong, read, there, absent, left_out = data
    return Judgement(
        path,
        tuple(_suspicion(*entry) for entry in suspicions),
        tuple((line, message) for line, message in wrong),
        read=dict(read),
        probed={**dict.fromkeys(there, True), **dict.fromkeys(absent, False)},
        left_out=tuple(left_out),
    )


def _suspicion(
    path: str,
    rule: str,
    case: str,
    place: list[int],
    message: str,
    suggestion: str,
    at_most: str,
    links: Any,
    rewrites: Any,
) -> Suspicion:
    line, column, end_line, end_column = place
    where = Place(line, column, end_line, end_column)
    pages = tuple(Link(kind, name, url) for kind, name, url in links)
    ways = tuple(_rewrite(*entry) for entry in rewrites)
    return Suspicion(path, rule, case, where, message, suggestion, Severity(at_most), pages, ways)


def _rewrite(description: str, applicability: str, replacements: Any, needs_both_sides: bool) -> SuspectedRewrite:
    made = (Replacement((start[0], start[1]), (end[0], end[1]), text) for start, end, text in replacements)
    return SuspectedRewrite(description, Applicability(applicability), tuple(made), needs_both_sides)
