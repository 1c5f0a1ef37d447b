"""Judgements that are kept between runs, in one SQLite file below a limit of size: the least recently used go first.

SQLite itself keeps runs side by side and runs that are killed from leaving half a page. It does not see a cut or a
changed byte, so each entry has a digest of its own, over what it is an answer to as well. A file in which an entry does
not agree with its digest, or which SQLite cannot read, is made anew. Whatever happens to the file, the worst is
that something is judged again; no run fails for it.

Why neither a library nor a file for each entry: `diskcache` is SQLite as well, without the digests and with an import
that each run would pay for. And to know how large a folder is, somebody has to list it; SQLite knows the number of its
pages, so a run that is far from the limit does not look for anything to leave out.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
import sqlite3
import time
import zlib
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.finding import Wanted
from exportlint.registry import sources_of
from exportlint.static.judgement import MOST_BYTES, Judgement, from_plain
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from types import TracebackType

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.source.parsed import FileStore
    from exportlint.files import SourceFile
    from exportlint.registry import RuleInfo

KEPT_SECONDS = 30 * 86400
# The folders of this package whose code decides what is reported of a file.
DECIDING = ("engine", "reference", "rewrite", "rule", "static")
# How finely uses are told apart. Most runs of an hour use what the last one did, and need not write that down again.
_USED_WITHIN = 3600
# What is left of the limit when it was passed: a run that has to make room makes it for many.
_SHARE_LEFT = 0.75
_SECONDS_BETWEEN_COMMITS = 1.0
_SECONDS_FOR_A_LOCK = 5.0
_DIGEST_BYTES = 16
# Of the tables below. A file of another one is made anew.
_FORMAT = 2
# Of a file that is damaged, cannot be read or written, or is locked for too long. UnicodeError: SQLite's message may
# quote what it found in the file; MemoryError: an entry may say that it is as large as it likes.
_FAILURES = (sqlite3.Error, UnicodeError, MemoryError)
_TABLES = (
    "CREATE TABLE judgements (key BLOB PRIMARY KEY, used INTEGER, judgement BLOB) WITHOUT ROWID",
    "CREATE INDEX by_use ON judgements (used)",
)


class JudgementCache:
    """Keeps judgements in a database in `folder` between runs.

    most_bytes  how large the database may become; as soon as it is larger, the least recently used quarter is left out
    """

    def __init__(
        self,
        folder: Path,
        rules: Iterable[RuleInfo],
        targets: Sequence[DeclaredTarget] = (),
        *,
        wanted: Wanted = Wanted.ALL,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._folder = folder
        self._rules = tuple(rules)
        self._about = (*map(repr, targets), f"rewrites {wanted.value}")
        self._most_bytes = most_bytes
        self._database: sqlite3.Connection | None = None
        self._made_anew = False
        self._version = b""
        self._unwritten: dict[bytes, bytes] = {}
        self._used: list[bytes] = []
        self._written = time.monotonic()

    def __enter__(self) -> JudgementCache:  # noqa: PYI034 - Self needs Python 3.11
        self._version = _version_of_run(self._rules, self._about)
        self._open()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        """What was judged before an interruption is kept."""
        self._write()
        self._close()

    def recall(self, file: SourceFile, files: FileStore, asked: frozenset[str]) -> Judgement | None:
        """The judgement of an earlier run, if it still holds. `asked`: the paths that findings are wanted for."""
        path = str(file.absolute)
        if self._database is None or file.text is not None:
            return None
        key = self._key(path)
        try:
            rows = self._database.execute("SELECT used, judgement FROM judgements WHERE key = ?", (key,)).fetchall()
        except _FAILURES as failure:
            self._give_up(failure)
            return None
        for used, entry in rows:
            try:
                found = from_plain(path, json.loads(_opened(key, entry)))
                is_long_ago = abs(_now() - used) > _USED_WITHIN
            except (ValueError, TypeError, IndexError) as damage:
                # Another entry in its place would be found as little as this one, where an index is what is wrong.
                self._give_up(damage)
                return None
            if found.holds(files, asked):
                if is_long_ago:
                    self._used.append(key)
                return found
        return None

    def keep(self, file: SourceFile, judgement: Judgement) -> None:
        """Keep a judgement; one with an error of ours is not kept, so that the error is reported again."""
        if self._database is None:
            return
        if file.text is None and not judgement.failed:
            key = self._key(judgement.path)
            text = json.dumps(judgement.plain(), ensure_ascii=False, separators=(",", ":"))
            with suppress(UnicodeError):  # a name that is no text
                self._unwritten[key] = _sealed(key, text)
        if time.monotonic() - self._written > _SECONDS_BETWEEN_COMMITS:
            self._write()

    def _key(self, path: str) -> bytes:
        about = hashlib.blake2b(self._version, digest_size=_DIGEST_BYTES)
        about.update(path.encode("utf-8", "surrogatepass"))
        return about.digest()

    def _write(self) -> None:
        """All that is to be written, at once: while somebody judges, nobody waits for the lock."""
        entries, used = list(self._unwritten.items()), self._used
        self._unwritten, self._used, self._written = {}, [], time.monotonic()
        while self._database is not None and (entries or used):
            try:
                _write(self._database, entries, used, self._most_bytes)
            except _FAILURES as failure:
                self._give_up(failure)
            else:
                return

    def _give_up(self, failure: Exception) -> None:
        """The rest of the run remembers nothing, where another process holds the lock; else it begins a new file."""
        self._close()
        if "locked" not in str(failure) and not self._made_anew:
            self._made_anew = True
            self._open(anew=True)

    def _open(self, *, anew: bool = False) -> None:
        """Open the database in the folder; make it anew if asked to, or if the file there is none."""
        path = self._folder / "judgements.sqlite"
        try:
            if anew:
                for part in (path, *(path.with_name(path.name + end) for end in ("-journal", "-wal", "-shm"))):
                    part.unlink(missing_ok=True)
            else:
                self._folder.mkdir(parents=True, exist_ok=True)
                (self._folder / ".gitignore").write_text("*\n", "utf-8")
            # Each statement by itself, but for those between BEGIN and COMMIT.
            self._database = sqlite3.connect(path, timeout=_SECONDS_FOR_A_LOCK, isolation_level=None)
            _prepare(self._database)
        except OSError:
            self._close()
        except _FAILURES as failure:
            self._give_up(failure)

    def _close(self) -> None:
        if self._database is not None:
            with suppress(sqlite3.Error):
                self._database.close()
            self._database = None


def _prepare(database: sqlite3.Connection) -> None:
    """Raises sqlite3.Error for a file that is not as this version makes it."""
    database.execute("PRAGMA synchronous = OFF")  # what a cut cable leaves is either right or is made again
    if _format_of(database) == _FORMAT:
        return
    database.execute("PRAGMA auto_vacuum = FULL")  # the file shrinks by what is left out; only a new file takes this
    database.execute("BEGIN IMMEDIATE")
    if _format_of(database) != _FORMAT:  # else another process has been faster
        for statement in _TABLES:
            database.execute(statement)
        database.execute(f"PRAGMA user_version = {_FORMAT}")
    database.execute("COMMIT")


def _format_of(database: sqlite3.Connection) -> int:
    return int(database.execute("PRAGMA user_version").fetchone()[0])


def _write(
    database: sqlite3.Connection, entries: Sequence[tuple[bytes, bytes]], used: Sequence[bytes], most_bytes: int
) -> None:
    now = _now()
    database.execute("BEGIN IMMEDIATE")
    database.executemany("UPDATE judgements SET used = ? WHERE key = ?", [(now, key) for key in used])
    rows = [(key, now, entry) for key, entry in entries]
    database.executemany("INSERT OR REPLACE INTO judgements VALUES (?, ?, ?)", rows)
    database.execute("DELETE FROM judgements WHERE used < ?", (now - KEPT_SECONDS,))
    if _bytes_of(database) > most_bytes:
        _leave_out(database, int(most_bytes * _SHARE_LEFT))
    database.execute("COMMIT")


def _leave_out(database: sqlite3.Connection, most_bytes: int) -> None:
    """What was not used for longest, until the rest is small enough. Entries are taken to be of one size."""
    while (size := _bytes_of(database)) > most_bytes:
        many = database.execute("SELECT count(*) FROM judgements").fetchone()[0]
        oldest = "SELECT key FROM judgements ORDER BY used LIMIT ?"
        too_many = math.ceil(many * (1 - most_bytes / size))
        if database.execute(f"DELETE FROM judgements WHERE key IN ({oldest})", (too_many,)).rowcount < 1:  # noqa: S608 - two texts of ours
            break


def _bytes_of(database: sqlite3.Connection) -> int:
    """Of its pages, but for empty ones; the numbers stand in its head, so nothing is looked for."""
    pages, empty, of_each = (
        database.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - empty) * of_each)


def _sealed(key: bytes, text: str) -> bytes:
    """An entry: a digest of it and its key, and the text, packed to a fifth; more effort saves little."""
    packed = zlib.compress(text.encode(), 1)
    return _digest(key, packed) + packed


def _opened(key: bytes, entry: object) -> str:
    """The text of an entry. ValueError where it, or its key, is not as it was written."""
    if not isinstance(entry, bytes) or entry[:_DIGEST_BYTES] != _digest(key, entry[_DIGEST_BYTES:]):
        raise ValueError
    return zlib.decompress(entry[_DIGEST_BYTES:]).decode()


def _digest(key: bytes, packed: bytes) -> bytes:
    return hashlib.blake2b(key + packed, digest_size=_DIGEST_BYTES).digest()


def _version_of_run(rules: Iterable[RuleInfo], asked: Iterable[str]) -> bytes:
    """A digest of whatever decides what is reported of a file: the interpreter, the parser, this package, the rules,
    what was `asked`, and of which targets (what their files hold is noted with each judgement)."""
    about = hashlib.blake2b(digest_size=_DIGEST_BYTES)
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
    return about.digest()


def deciding_files() -> list[Path]:
    """Every file of this package that can change a judgement."""
    package = Path(__file__).parents[1]
    inside = (path for folder in DECIDING for path in (package / folder).rglob("*.*"))
    loose = (path for path in package.glob("*.*") if path.is_file())
    return sorted(path for path in (*loose, *inside) if path.suffix in {".py", ".json", ".toml"})


def _now() -> int:
    return int(time.time())
