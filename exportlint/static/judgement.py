"""What judging one file gave, in a form that goes between processes and is kept between runs.

A judgement is good as long as all that it rests on is what it was: of the files that were opened the definitions that
it looked up (`exportlint.engine.source.dependence`), and files that were looked for and not there.
Judgements are kept in one SQLite file, so that runs side by side and runs that are killed leave it whole. What cannot
be read or written is not remembered; no run fails for it.
"""

from __future__ import annotations

import hashlib
import json
import platform
import sqlite3
import time
from contextlib import suppress
from dataclasses import astuple, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.engine.source.dependence import Dependence
from exportlint.finding import Applicability, Link, Severity, Wanted
from exportlint.registry import sources_of
from exportlint.rule.suspicion import Place, Replacement, SuspectedRewrite, Suspicion, Wording
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.source.parsed import FileStore
    from exportlint.files import SourceFile
    from exportlint.registry import RuleInfo


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
) -> Suspicion:
    line, column, end_line, end_column = place
    where = Place(line, column, end_line, end_column)
    pages = tuple(Link(kind, name, url) for kind, name, url in links)
    ways = tuple(_rewrite_from_plain(*entry) for entry in rewrites)
    said = (Wording(*exported), Wording(*compiled))
    return Suspicion(path, rule, case, where, *said, Severity(at_most), pages, ways, in_python, caught_at, unmade)


def _rewrite_from_plain(
    description: str, applicability: str, replacements: Any, both_sides_of: int, needs_python: bool, path: str
) -> SuspectedRewrite:
    made = (Replacement((start[0], start[1]), (end[0], end[1]), text) for start, end, text in replacements)
    return SuspectedRewrite(description, Applicability(applicability), tuple(made), both_sides_of, needs_python, path)


# Kept between runs.


KEPT_DAYS = 30
# The folders of this package whose code decides what is reported of a file.
DECIDING = ("engine", "reference", "rewrite", "rule", "static")
_SECONDS_BETWEEN_COMMITS = 1.0
_CREATE_TABLE = (
    "CREATE TABLE IF NOT EXISTS judgements"
    " (path TEXT, version TEXT, day INTEGER, judgement TEXT, PRIMARY KEY (path, version)) WITHOUT ROWID"
)


class JudgementCache:
    """Keeps judgements in a database in `folder` between runs; None: nothing is remembered."""

    def __init__(
        self,
        folder: Path | None,
        rules: Iterable[RuleInfo],
        targets: Sequence[DeclaredTarget] = (),
        *,
        wanted: Wanted = Wanted.ALL,
    ) -> None:
        self._folder = folder
        self._rules = tuple(rules)
        self._about = (*map(repr, targets), f"rewrites {wanted.value}")
        self._database: sqlite3.Connection | None = None
        self._version = ""
        self._committed = time.monotonic()

    def __enter__(self) -> JudgementCache:  # noqa: PYI034 - Self needs Python 3.11
        if self._folder is not None:
            self._version = _version_of_run(self._rules, self._about)
            self._database = _opened_database(self._folder)
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        """What was judged before an interruption is kept."""
        if self._database:
            self._execute("DELETE FROM judgements WHERE day < ?", _today() - KEPT_DAYS)
            with suppress(sqlite3.Error):
                self._database.commit()
            self._database.close()

    def recall(self, file: SourceFile, files: FileStore, asked: frozenset[str]) -> Judgement | None:
        """The judgement of an earlier run, if it still holds. `asked`: the paths that findings are wanted for."""
        path = str(file.absolute)
        rows = [] if file.text is not None else self._execute(
            "SELECT judgement FROM judgements WHERE path = ? AND version = ?", path, self._version
        )  # fmt: skip
        for (text,) in rows:
            try:
                found = from_plain(path, json.loads(text))
            except (ValueError, TypeError, IndexError):
                return None
            return found if found.holds(files, asked) else None
        return None

    def keep(self, file: SourceFile, judgement: Judgement) -> None:
        """Keep a judgement; one with an error of ours is not kept, so that the error is reported again."""
        if file.text is None and not judgement.failed:
            text = json.dumps(judgement.plain(), ensure_ascii=False, separators=(",", ":"))
            values = (judgement.path, self._version, _today(), text)
            self._execute("INSERT OR REPLACE INTO judgements VALUES (?, ?, ?, ?)", *values)
        if self._database and time.monotonic() - self._committed > _SECONDS_BETWEEN_COMMITS:
            with suppress(sqlite3.Error):
                self._database.commit()
            self._committed = time.monotonic()

    def _execute(self, statement: str, *values: object) -> list[tuple[str]]:
        if self._database is None:
            return []
        try:
            return self._database.execute(statement, values).fetchall()
        except (sqlite3.Error, UnicodeError):  # a name that is no text
            return []


def _opened_database(folder: Path) -> sqlite3.Connection | None:
    """The database in the folder, made anew where the file is none; None where none can be opened."""
    path = folder / "judgements.sqlite"
    for _ in range(2):
        try:
            folder.mkdir(parents=True, exist_ok=True)
            (folder / ".gitignore").write_text("*\n", "utf-8")
            database = sqlite3.connect(path, timeout=10)
            database.execute("PRAGMA synchronous = OFF")  # a run that is killed loses nothing by it
            database.execute(_CREATE_TABLE)
        except sqlite3.OperationalError:
            return None
        except sqlite3.DatabaseError:
            path.unlink(missing_ok=True)
        except OSError:
            return None
        else:
            return database
    return None


def _version_of_run(rules: Iterable[RuleInfo], asked: Iterable[str]) -> str:
    """A digest of whatever decides what is reported of a file: the interpreter, the parser, this package, the rules,
    what was `asked`, and of which targets (what their files hold is noted with each judgement)."""
    about = hashlib.blake2b(digest_size=16)
    for word in (
        __version__,
        platform.python_version(),
        version("libcst"),
        *(rule.name for rule in rules),
        *asked,
    ):
        about.update(word.encode() + b"\0")
    for path in (*deciding_files(), *sources_of(rules)):
        about.update(path.read_bytes())
    return about.hexdigest()


def deciding_files() -> list[Path]:
    """Every file of this package that can change a judgement."""
    package = Path(__file__).parents[1]
    inside = (path for folder in DECIDING for path in (package / folder).rglob("*.*"))
    loose = (path for path in package.glob("*.*") if path.is_file())
    return sorted(path for path in (*loose, *inside) if path.suffix in {".py", ".json", ".toml"})


def _today() -> int:
    return int(time.time() // 86400)
