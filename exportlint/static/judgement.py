"""What judging one file gave, in a form that goes between processes and is kept between runs.

A judgement is good as long as all that it rests on is what it was: of the files that were opened the definitions that
it looked up (`exportlint.engine.source.dependence`), and files that were looked for and not there.
Where judgements are kept between runs: `exportlint.static.judgement_cache`.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.engine.source.dependence import Dependence
from exportlint.finding import Applicability, Link, Severity
from exportlint.rule.suspicion import Place, Replacement, SuspectedRewrite, Suspicion, Wording

if TYPE_CHECKING:
    from exportlint.engine.source.parsed import FileStore


# What the cache may take: 140 files of transformers took 348 KB, for one version of exportlint and its rules.
MOST_BYTES = 256_000_000


@dataclass(frozen=True, slots=True)
class Judgement:
    """All that follows from one file and the files it leads to, whoever else is checked beside it.

    wrong      what kept the file from being judged, as (line, message)
    failed     errors of ours while judging it
    read       files that were opened -> what of them it rests on
    probed     other paths that were looked for -> were they there
    left_out   files with functions that it runs and that nobody asked about
    """

    path: str
    suspicions: tuple[Suspicion, ...] = ()
    wrong: tuple[tuple[int | None, str], ...] = ()
    failed: tuple[str, ...] = ()
    read: dict[str, Dependence] = field(default_factory=dict)
    probed: dict[str, bool] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    def holds(self, files: FileStore, asked: frozenset[str]) -> bool:
        """Is all that it rests on what it was? `asked`: the paths that findings are wanted for."""
        if not asked.isdisjoint(self.left_out):
            return False
        rests = self.read.items()
        same = all(one.holds(files.digest(path), partial(files.parsed, Path(path))) for path, one in rests)
        return same and all(files.exists(path) == there for path, there in self.probed.items())

    def plain(self) -> list[Any]:
        """As lists and strings, for JSON."""
        there = [path for path, known in self.probed.items() if known]
        absent = [path for path, known in self.probed.items() if not known]
        suspicions = [astuple(one) for one in self.suspicions]
        read = [(path, *_plain_dependence(one)) for path, one in self.read.items()]
        return [suspicions, self.wrong, read, there, absent, self.left_out]


def from_plain(path: str, data: list[Any]) -> Judgement:
    """The inverse of `plain`. Raises ValueError, TypeError or IndexError for data of another form."""
    suspicions, wrong, read, there, absent, left_out = data
    return Judgement(
        path,
        tuple(_suspicion_from_plain(*entry) for entry in suspicions),
        tuple((line, message) for line, message in wrong),
        read={name: _dependence_from_plain(*parts) for name, *parts in read},
        probed={**dict.fromkeys(there, True), **dict.fromkeys(absent, False)},
        left_out=tuple(left_out),
    )


def _plain_dependence(one: Dependence) -> list[Any]:
    """Its fields; of one that rests on the whole content, that alone."""
    return [one.content] if one.interface is None else list(astuple(one))


def _dependence_from_plain(content: str | None, *parts: Any) -> Dependence:
    if not parts:
        return Dependence(content)
    interface, *answers, lines = parts
    definitions, matches, constants = (tuple((name, answer) for name, answer in found) for found in answers)
    return Dependence(content, interface, definitions, matches, constants, lines)


def _suspicion_from_plain(
    path: str,
    rule: str,
    case: str,
    place: list[int],
    exported: list[str],
    compiled: list[str],
    at_most: str,
    links: Any,
    rewrites: Any,
    in_python: bool,
    caught_at: int,
    unmade: bool,
    trail: Any,
) -> Suspicion:
    line, column, end_line, end_column = place
    where = Place(line, column, end_line, end_column)
    pages = tuple(Link(kind, name, url) for kind, name, url in links)
    ways = tuple(_rewrite_from_plain(*entry) for entry in rewrites)
    said = (Wording(*exported), Wording(*compiled))
    steps = tuple((text, at, file) for text, at, file in trail)
    most = Severity(at_most)
    return Suspicion(path, rule, case, where, *said, most, pages, ways, in_python, caught_at, unmade, steps)


def _rewrite_from_plain(
    description: str, applicability: str, replacements: Any, both_sides_of: int, needs_python: bool, path: str
) -> SuspectedRewrite:
    made = (Replacement((start[0], start[1]), (end[0], end[1]), text) for start, end, text in replacements)
    return SuspectedRewrite(description, Applicability(applicability), tuple(made), both_sides_of, needs_python, path)
