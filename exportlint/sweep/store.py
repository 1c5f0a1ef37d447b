"""The results of sweeps in one SQLite file, which survives whatever ends the process that writes it.

One transaction a result, write-ahead log: `kill -9` leaves the results that were written, each whole, and SQLite takes
the rest back when the file is next opened. A result stands under its key, so that no target counts twice, and a later
trial of the same key takes the place of the earlier one.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError
from exportlint.sweep.closure import content_hash
from exportlint.sweep.result import FAILURES, SweptOutcome
from exportlint.trial.protocol.outcomes import PASSED
from exportlint.trial.protocol.stages import EAGER, LOAD, LOWER_PREFIX, SCRIPT, SOUNDNESS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from exportlint.sweep.result import Planned, SweepResult

# Each entry brings a file to the version of its place, the first one to 1. What was released is never edited: a change
# is a further entry.
MIGRATIONS = (
    """
    CREATE TABLE sweep (
        id INTEGER PRIMARY KEY,
        started TEXT NOT NULL,
        specs TEXT NOT NULL,
        options TEXT NOT NULL,
        torch TEXT NOT NULL,
        shards TEXT NOT NULL
    );
    CREATE TABLE planned (
        sweep INTEGER NOT NULL REFERENCES sweep,
        key TEXT NOT NULL,
        target TEXT NOT NULL,
        library TEXT NOT NULL,
        family TEXT NOT NULL,
        versions TEXT NOT NULL,
        sources TEXT NOT NULL,
        PRIMARY KEY (sweep, key)
    ) WITHOUT ROWID;
    CREATE INDEX planned_by_key ON planned (key);
    CREATE TABLE result (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        outcome TEXT NOT NULL,
        detail TEXT NOT NULL,
        started TEXT NOT NULL,
        seconds REAL NOT NULL,
        also TEXT NOT NULL,
        report BLOB NOT NULL
    );
    CREATE TABLE stage (
        result INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,
        name TEXT NOT NULL,
        status TEXT NOT NULL,
        seconds REAL NOT NULL,
        detail TEXT NOT NULL,
        error_class TEXT
    );
    CREATE INDEX stage_by_result ON stage (result);
    CREATE TABLE cause (
        result INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,
        rule TEXT NOT NULL,
        stage TEXT,
        severity TEXT NOT NULL,
        path TEXT NOT NULL,
        line INTEGER NOT NULL,
        message TEXT NOT NULL
    );
    CREATE INDEX cause_by_result ON cause (result);
    CREATE TABLE ran (
        result INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,
        path TEXT NOT NULL,
        lines TEXT NOT NULL
    );
    CREATE INDEX ran_by_result ON ran (result);
    """,
    """
    ALTER TABLE cause ADD COLUMN mend TEXT NOT NULL DEFAULT '';
    ALTER TABLE cause ADD COLUMN tried INTEGER NOT NULL DEFAULT 0;
    ALTER TABLE cause ADD COLUMN kind TEXT NOT NULL DEFAULT '';
    CREATE TABLE graph_break (
        result INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,
        rule TEXT NOT NULL,
        reason TEXT NOT NULL,
        path TEXT NOT NULL,
        line INTEGER NOT NULL,
        times INTEGER NOT NULL
    );
    CREATE INDEX graph_break_by_result ON graph_break (result);
    CREATE TABLE repair (
        result INTEGER NOT NULL REFERENCES result ON DELETE CASCADE,
        outcome TEXT NOT NULL,
        rewrites TEXT NOT NULL,
        tried INTEGER NOT NULL,
        diff TEXT NOT NULL,
        seconds REAL NOT NULL
    );
    CREATE INDEX repair_by_result ON repair (result);
    """,
)
# What `file` and other programs know the format by: "XLSw".
APPLICATION = 0x584C5377
_BUSY_SECONDS = 60.0
# Of a planned target `p`, with its library.
_FAMILY = "CASE p.library WHEN '' THEN p.family ELSE p.library || ':' || p.family END"
_BEFORE_EXPORT = (SCRIPT.name, LOAD.name, EAGER.name)
# Of a result `r`: nothing failed, and somebody looked whether the program agrees with eager.
_IS_FINE = f"""r.outcome = 'exports' AND NOT EXISTS (SELECT 1 FROM cause c WHERE c.result = r.id)
               AND NOT EXISTS (SELECT 1 FROM stage s WHERE s.result = r.id AND s.status <> '{PASSED}')
               AND EXISTS (SELECT 1 FROM stage s WHERE s.result = r.id AND s.name = '{SOUNDNESS.name}')"""  # noqa: S608 (our own words)


@dataclass(frozen=True, slots=True)
class Row:
    """A target of a sweep, with what became of it; `outcome` is None where it was not tried yet."""

    key: str
    target: str
    library: str
    family: str
    outcome: SweptOutcome | None
    detail: str
    seconds: float


@dataclass(frozen=True, slots=True)
class CommonCause:
    """What several targets fail of: the same case of a rule, or the same words.

    example   one of the targets, to try
    places    at how many lines; `place` is one
    mend      what to write instead
    tried     of how many targets a trial saw that it helps
    """

    rule: str
    message: str
    severity: str
    targets: int
    example: str
    places: int
    place: str
    mend: str
    tried: int


@dataclass(frozen=True, slots=True)
class CommonBreak:
    """Where torch.compile ends graphs for the same reason. `rule` is empty where none knows it; `times`: how often."""

    rule: str
    reason: str
    targets: int
    times: int
    example: str
    place: str


@dataclass(frozen=True, slots=True)
class Repaired:
    """A target that failed, of which rewrites were tried. `before`, `after`: what became of it without and with."""

    target: str
    before: SweptOutcome
    after: SweptOutcome
    rewrites: tuple[tuple[str, str], ...]
    tried: int
    diff: str


@dataclass(frozen=True, slots=True)
class FailingLine:
    """A line at which exports fail. `rule`: by which the trial told it; `targets`: how many; `example`: one of them."""

    path: str
    line: int
    rule: str
    message: str
    targets: int
    example: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """One run of `exportlint sweep`, as it was asked for; of several machines together, where their stores were merged.
    `shards`: which of how many."""

    number: int
    started: str
    specs: tuple[str, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    torch: str = ""
    shards: tuple[tuple[int, int], ...] = ((1, 1),)


class Store:
    """The file, open. `opened` makes one."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._sql = connection
        self.path = path

    # Written while a sweep runs.

    def begin(
        self,
        specs: Sequence[str],
        options: Mapping[str, Any],
        torch: str,
        targets: Iterable[Planned],
        shard: tuple[int, int] = (1, 1),
    ) -> int:
        """Write down what is going to be tried; the number of the sweep."""
        asked = (json.dumps(list(specs)), json.dumps(dict(options), sort_keys=True), torch)
        with self._transaction():
            number = self._new_sweep(_now(), *asked, json.dumps([shard]))
            rows = (
                (
                    number,
                    one.key,
                    one.target.name,
                    one.library,
                    one.family,
                    json.dumps(dict(one.versions)),
                    json.dumps(dict(one.sources)),
                )
                for one in targets
            )
            self._sql.executemany("INSERT OR IGNORE INTO planned VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        return number

    def _new_sweep(self, *row: str) -> int:
        columns = "started, specs, options, torch, shards"
        done = self._sql.execute(f"INSERT INTO sweep ({columns}) VALUES (?, ?, ?, ?, ?)", row)  # noqa: S608 (as above)
        return int(done.lastrowid or 0)

    def done(self, keys: Collection[str], again: Collection[SweptOutcome] = ()) -> set[str]:
        """Those of the keys that have a result which is still good, and is none of the outcomes to try `again`.

        Good is one whose files that the key does not know of are as they were.
        """
        wanted, hashes = set(keys), dict[str, str]()
        found = self._sql.execute("SELECT key, outcome, also FROM result")
        return {
            key
            for key, outcome, also in found
            if key in wanted and SweptOutcome(outcome) not in again and _is_unchanged(json.loads(also), hashes)
        }

    def add(self, result: SweepResult) -> None:
        """Keep a result, all of it or nothing."""
        with self._transaction():
            self._replace(result)

    def _replace(self, result: SweepResult) -> None:
        self._sql.execute("DELETE FROM result WHERE key = ?", (result.key,))
        done = self._sql.execute(
            "INSERT INTO result (key, outcome, detail, started, seconds, also, report) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                result.key,
                result.outcome.value,
                result.detail,
                result.started,
                result.seconds,
                json.dumps(dict(result.also)),
                zlib.compress(json.dumps(result.report).encode()),
            ),
        )
        own = done.lastrowid
        stages = ((own, one.name, one.status, one.seconds, one.detail, one.error_class) for one in result.stages)
        self._sql.executemany("INSERT INTO stage VALUES (?, ?, ?, ?, ?, ?)", stages)
        causes = (
            (own, one.rule, one.stage, one.severity, one.path, one.line, one.message, one.mend, one.tried, one.kind)
            for one in result.causes
        )
        self._sql.executemany("INSERT INTO cause VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", causes)
        breaks = ((own, one.rule, one.reason, one.path, one.line, one.times) for one in result.breaks)
        self._sql.executemany("INSERT INTO graph_break VALUES (?, ?, ?, ?, ?, ?)", breaks)
        if (repair := result.repair) is not None:
            row = (own, repair.outcome.value, json.dumps(repair.rewrites), repair.tried, repair.diff, repair.seconds)
            self._sql.execute("INSERT INTO repair VALUES (?, ?, ?, ?, ?, ?)", row)
        lines = ((own, path, as_ranges(some)) for path, some in result.ran.items())
        self._sql.executemany("INSERT INTO ran VALUES (?, ?, ?)", lines)

    def merge(self, other: Store) -> int:
        """Take over the sweeps and results of another store; of one key, the later result stays. How many are new."""
        self._sql.execute("ATTACH ? AS other", (str(other.path),))
        try:
            with self._transaction():
                return self._take_over()
        finally:
            self._sql.execute("DETACH other")

    def _take_over(self) -> int:
        sql = self._sql
        every = "SELECT id, started, specs, options, torch, shards FROM other.sweep ORDER BY id"
        for number, *row in sql.execute(every).fetchall():
            own = self._same_sweep(number, row) or self._joined(row) or self._new_sweep(*row)
            columns = "key, target, library, family, versions, sources"
            sql.execute(
                f"INSERT OR IGNORE INTO planned SELECT ?, {columns} FROM other.planned WHERE sweep = ?",  # noqa: S608 (our own words)
                (own, number),
            )
        newer = """SELECT o.id, o.key FROM other.result o LEFT JOIN result r ON r.key = o.key
                   WHERE r.key IS NULL OR r.started < o.started"""
        rows = sql.execute(newer).fetchall()
        for theirs, key in rows:
            sql.execute("DELETE FROM result WHERE key = ?", (key,))
            columns = "key, outcome, detail, started, seconds, also, report"
            added = sql.execute(
                f"INSERT INTO result ({columns}) SELECT {columns} FROM other.result WHERE id = ?",  # noqa: S608 (as above)
                (theirs,),
            )
            for table, fields in _PARTS.items():
                sql.execute(
                    f"INSERT INTO {table} SELECT ?, {fields} FROM other.{table} WHERE result = ?",  # noqa: S608 (as above)
                    (added.lastrowid, theirs),
                )
        return len(rows)

    def _same_sweep(self, theirs: int, row: Sequence[str]) -> int | None:
        """The own sweep that has all of theirs: an earlier merge brought it."""
        _, *asked, shards = row
        keys = {key for (key,) in self._sql.execute("SELECT key FROM other.planned WHERE sweep = ?", (theirs,))}
        for number, known in self._asked_alike(asked):
            own = {key for (key,) in self._sql.execute("SELECT key FROM planned WHERE sweep = ?", (number,))}
            if keys <= own and all(one in known for one in json.loads(shards)):
                return number
        return None

    def _joined(self, row: Sequence[str]) -> int | None:
        """The own sweep of which theirs is a shard that it does not have."""
        _, *asked, shards = row
        theirs = json.loads(shards)
        for number, known in self._asked_alike(asked):
            if {of for _, of in known} == {of for _, of in theirs} and not any(one in known for one in theirs):
                joined = json.dumps(sorted([*known, *theirs]))
                self._sql.execute("UPDATE sweep SET shards = ? WHERE id = ?", (joined, number))
                return number
        return None

    def _asked_alike(self, asked: Sequence[str]) -> list[tuple[int, list[list[int]]]]:
        """Number and shards of the own sweeps with the same specs, options and torch."""
        same = "SELECT id, shards FROM sweep WHERE (specs, options, torch) = (?, ?, ?) ORDER BY id"
        return [(number, json.loads(shards)) for number, shards in self._sql.execute(same, tuple(asked)).fetchall()]

    # Read afterwards.

    def sweeps(self) -> list[Sweep]:
        """All, the oldest first."""
        rows = self._sql.execute("SELECT id, started, specs, options, torch, shards FROM sweep ORDER BY id")
        return [
            Sweep(
                number,
                started,
                tuple(json.loads(specs)),
                json.loads(options),
                torch,
                tuple((which, of) for which, of in json.loads(shards)),
            )
            for number, started, specs, options, torch, shards in rows
        ]

    def rows(self, sweep: int) -> Iterator[Row]:
        """The targets of a sweep, by name."""
        asked = """SELECT p.key, p.target, p.library, p.family, r.outcome, r.detail, r.seconds
                   FROM planned p LEFT JOIN result r ON r.key = p.key WHERE p.sweep = ? ORDER BY p.target"""
        for key, target, library, family, outcome, detail, seconds in self._sql.execute(asked, (sweep,)):
            word = SweptOutcome(outcome) if outcome else None
            yield Row(key, target, library, family, word, detail or "", seconds or 0.0)

    def failing(self, sweep: int) -> list[Row]:
        """Those of the targets that were tried and are no export."""
        asked = """SELECT p.key, p.target, p.library, p.family, r.outcome, r.detail, r.seconds
                   FROM planned p JOIN result r ON r.key = p.key
                   WHERE p.sweep = ? AND r.outcome <> ? ORDER BY p.target"""
        rows = self._sql.execute(asked, (sweep, SweptOutcome.EXPORTS.value))
        return [
            Row(key, target, library, family, SweptOutcome(outcome), detail, seconds)
            for key, target, library, family, outcome, detail, seconds in rows
        ]

    def outcomes(self, sweep: int, *, by: str = "library") -> dict[str, dict[str, int]]:
        """Library or family -> outcome -> how many targets; the outcome of what was not tried yet is ""."""
        column = {"library": "p.library", "family": _FAMILY}[by]
        asked = f"""SELECT {column}, coalesce(r.outcome, ''), count(*)
                    FROM planned p LEFT JOIN result r ON r.key = p.key
                    WHERE p.sweep = ? GROUP BY 1, 2 ORDER BY 1"""  # noqa: S608 (one of the two columns above)
        found: dict[str, dict[str, int]] = {}
        for name, outcome, number in self._sql.execute(asked, (sweep,)):
            found.setdefault(name, {})[outcome] = number
        return found

    def packages(self, sweep: int) -> dict[str, list[str]]:
        """Name that is imported -> name and version of what the targets were tried with; several where they differ."""
        found: dict[str, set[str]] = {}
        for (versions,) in self._sql.execute("SELECT DISTINCT versions FROM planned WHERE sweep = ?", (sweep,)):
            for name, version in json.loads(versions).items():
                found.setdefault(name, set()).add(version)
        return {name: sorted(some) for name, some in sorted(found.items())}

    def stages(self, sweep: int) -> list[tuple[str, str, int, float]]:
        """Stage, status, number of targets, seconds of all of them together."""
        # Read in the order in which they lie, which is quicker than target by target.
        asked = """SELECT name, status, count(*), sum(seconds) FROM stage
                   WHERE result IN (SELECT r.id FROM planned p JOIN result r ON r.key = p.key WHERE p.sweep = ?)
                   GROUP BY 1, 2"""
        return [(name, status, number, seconds) for name, status, number, seconds in self._sql.execute(asked, (sweep,))]

    def causes(self, sweep: int, most: int | None = None) -> list[CommonCause]:
        """What the targets of a sweep fail of, what most of them have in common first."""
        # Beside min(), the other columns of a group are those of the row that has the least.
        asked = """SELECT c.rule, c.message, c.severity, count(DISTINCT p.key), min(p.target),
                          count(DISTINCT c.path || ':' || c.line), c.path || ':' || c.line, c.mend,
                          count(DISTINCT CASE WHEN c.tried THEN p.key END), count(DISTINCT c.message)
                   FROM planned p JOIN result r ON r.key = p.key JOIN cause c ON c.result = r.id
                   WHERE p.sweep = ? GROUP BY c.rule, CASE c.kind WHEN '' THEN c.message ELSE c.kind END
                   ORDER BY 4 DESC, 1, 2 LIMIT ?"""
        rows = self._sql.execute(asked, (sweep, -1 if most is None else most))
        return [
            CommonCause(rule, in_general(message) if wordings > 1 else message, *rest)
            for rule, message, *rest, wordings in rows
        ]

    def breaks(self, sweep: int) -> list[CommonBreak]:
        """Where torch.compile ends the graphs of a sweep's targets, what most of them have in common first."""
        asked = """SELECT b.rule, b.reason, count(DISTINCT p.key), sum(b.times), min(p.target),
                          coalesce(min(CASE b.path WHEN '' THEN NULL ELSE b.path || ':' || b.line END), '')
                   FROM planned p JOIN result r ON r.key = p.key JOIN graph_break b ON b.result = r.id
                   WHERE p.sweep = ? GROUP BY b.rule, b.reason ORDER BY 3 DESC, 4 DESC, 1, 2"""
        return [CommonBreak(*row) for row in self._sql.execute(asked, (sweep,))]

    def lowerings(self, sweep: int) -> dict[str, dict[str, tuple[int, int]]]:
        """Library and family -> lowering -> (how many targets passed, how many were lowered)."""
        asked = f"""SELECT {_FAMILY}, s.name, sum(s.status = ?), count(*) FROM planned p
                    JOIN result r ON r.key = p.key JOIN stage s ON s.result = r.id
                    WHERE p.sweep = ? AND s.name LIKE ? GROUP BY 1, 2 ORDER BY 1, 2"""  # noqa: S608 (our own words)
        found: dict[str, dict[str, tuple[int, int]]] = {}
        for family, stage, passed, lowered in self._sql.execute(asked, (PASSED, sweep, f"{LOWER_PREFIX}%")):
            found.setdefault(family, {})[stage.removeprefix(LOWER_PREFIX)] = (passed, lowered)
        return found

    def repairs(self, sweep: int) -> list[Repaired]:
        """The targets of a sweep of which rewrites were tried, by name."""
        asked = """SELECT p.target, r.outcome, f.outcome, f.rewrites, f.tried, f.diff FROM planned p
                   JOIN result r ON r.key = p.key JOIN repair f ON f.result = r.id WHERE p.sweep = ? ORDER BY 1"""
        return [
            Repaired(target, SweptOutcome(was), SweptOutcome(now), tuple(map(tuple, json.loads(rewrites))), tried, diff)
            for target, was, now, rewrites, tried, diff in self._sql.execute(asked, (sweep,))
        ]

    def report(self, key: str) -> dict[str, Any]:
        """The report of one trial by its JSON contract; empty where the target was not tried."""
        row = self._sql.execute("SELECT report FROM result WHERE key = ?", (key,)).fetchone()
        return dict(json.loads(zlib.decompress(row[0]))) if row else {}

    def ran(self, sweep: int) -> dict[str, frozenset[int]]:
        """File -> the lines that the targets of a sweep ran inside of their models' calls."""
        return self._lines(sweep, "1")

    def failing_lines(self, sweep: int) -> list[FailingLine]:
        """The lines at which exports of a sweep fail, or compute something else; not those that keep a model from being
        made or from running."""
        asked = f"""SELECT c.path, c.line, c.rule, c.message, count(DISTINCT p.key), min(p.target) FROM planned p
                    JOIN result r ON r.key = p.key JOIN cause c ON c.result = r.id
                    WHERE p.sweep = ? AND coalesce(c.stage, '') NOT IN ({", ".join("?" * len(_BEFORE_EXPORT))})
                    GROUP BY 1, 2, 3, 4 ORDER BY 1, 2"""  # noqa: S608 (question marks)
        return [FailingLine(*row) for row in self._sql.execute(asked, (sweep, *_BEFORE_EXPORT))]

    def fine_lines(self, sweep: int) -> dict[str, frozenset[int]]:
        """File -> the lines that only targets ran of which every stage passed, the comparison with eager among them."""
        others = self._lines(sweep, f"NOT ({_IS_FINE})")
        return {path: lines - others.get(path, frozenset()) for path, lines in self._lines(sweep, _IS_FINE).items()}

    def _lines(self, sweep: int, condition: str) -> dict[str, frozenset[int]]:
        """File -> the lines that the targets ran whose result `r` the condition holds of."""
        asked = f"""SELECT ran.path, ran.lines FROM planned p
                    JOIN result r ON r.key = p.key JOIN ran ON ran.result = r.id
                    WHERE p.sweep = ? AND {condition}"""  # noqa: S608 (our own words)
        found: dict[str, set[int]] = {}
        for path, ranges in self._sql.execute(asked, (sweep,)):
            found.setdefault(path, set()).update(lines_of(ranges))
        return {path: frozenset(lines) for path, lines in found.items()}

    def table(self, name: str) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
        """Columns and rows of what people query, one of `TABLES` of results, of all sweeps; each with its target."""
        found = self._sql.execute(_TABLES[name])
        return [column[0] for column in found.description], found

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._sql.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            # Where the disk is full, SQLite has taken it back already.
            if self._sql.in_transaction:
                self._sql.execute("ROLLBACK")
            raise
        self._sql.execute("COMMIT")


_PARTS = {
    "stage": "name, status, seconds, detail, error_class",
    "cause": "rule, stage, severity, path, line, message, mend, tried, kind",
    "graph_break": "rule, reason, path, line, times",
    "repair": "outcome, rewrites, tried, diff, seconds",
    "ran": "path, lines",
}
_OF_RESULT = """sweep.torch, p.library, p.family, p.target, r.key
                FROM result r JOIN planned p ON p.key = r.key JOIN sweep ON sweep.id = p.sweep"""
_ONCE = "WHERE p.sweep = (SELECT max(sweep) FROM planned WHERE key = r.key)"
_TABLES = {
    "results": f"SELECT r.outcome, r.detail, r.started, r.seconds, p.versions, {_OF_RESULT} {_ONCE} ORDER BY p.target",
    "stages": f"""SELECT s.name, s.status, s.seconds, s.detail, s.error_class, {_OF_RESULT}
                  JOIN stage s ON s.result = r.id {_ONCE} ORDER BY p.target""",
    "causes": f"""SELECT c.rule, c.stage, c.severity, c.path, c.line, c.message, c.mend, {_OF_RESULT}
                  JOIN cause c ON c.result = r.id {_ONCE} ORDER BY p.target, c.path, c.line""",
    "graph-breaks": f"""SELECT b.rule, b.reason, b.path, b.line, b.times, {_OF_RESULT}
                        JOIN graph_break b ON b.result = r.id {_ONCE} ORDER BY p.target, b.path, b.line""",
    "repairs": f"""SELECT f.outcome, f.rewrites, f.tried, f.diff, f.seconds, {_OF_RESULT}
                   JOIN repair f ON f.result = r.id {_ONCE} ORDER BY p.target""",
}


@contextmanager
def opened(path: Path, *, create: bool = False) -> Iterator[Store]:
    """The store in a file, brought to the newest version where it is older.

    Raises UserError for what is no store, for one that a newer exportlint wrote, and where the disk does not do it.
    """
    if not create and not path.is_file():
        raise UserError(f"{path}: there is no such store; `exportlint sweep` writes one")
    try:
        connection = sqlite3.connect(path, timeout=_BUSY_SECONDS, isolation_level=None)
    except sqlite3.Error as error:
        raise UserError(f"{path}: cannot be opened: {error}") from error
    try:
        _prepare(connection, path)
        yield Store(connection, path)
    except sqlite3.Error as error:
        raise UserError(f"{path}: {_in_words(error)}") from error
    finally:
        connection.close()


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        mark = connection.execute("PRAGMA application_id").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    except sqlite3.DatabaseError as error:
        raise UserError(f"{path}: is no store of exportlint sweep ({error}); name another file") from error
    if tables and mark != APPLICATION:
        raise UserError(f"{path}: is a database of another program; name another file")
    if version > len(MIGRATIONS):
        raise UserError(
            f"{path}: was written by a newer exportlint (version {version}, this one reads up to {len(MIGRATIONS)}); "
            "install that one, or name another file"
        )
    connection.execute("PRAGMA journal_mode = WAL")
    # Of a machine that loses its power the last results may be gone; the file stays whole.
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("PRAGMA foreign_keys = ON")
    if version < len(MIGRATIONS):
        _migrate(connection)


def _migrate(connection: sqlite3.Connection) -> None:
    """All steps or none of them. Another process may be doing the same: who comes second finds it done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        for script in MIGRATIONS[version:]:
            for statement in script.split(";"):
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _in_words(error: sqlite3.Error) -> str:
    text = str(error)
    if "full" in text:
        return "the disk is full; what was written is kept: make room, and run the same command again"
    if "locked" in text:
        return f"another process has been writing to it for {_BUSY_SECONDS:g} seconds; run the same command again"
    return f"cannot be read or written ({text}); what was written before is kept"


def in_general(message: str) -> str:
    """What a finding says of any line of its kind: without the code and the place of this one.

    >>> in_general("`x > 0` branches on a value (parameter `x` of forward, line 6): torch 2.13 refuses it; tried: `y`")
    '`…` branches on a value: torch 2.13 refuses it'
    """
    text = re.sub(r" \([^()]*\bline \d+[^()]*\)", "", message.partition("; tried:")[0])
    return re.sub("`[^`]*`", "`…`", text, count=1)


def as_ranges(lines: Iterable[int]) -> str:
    """Numbers as text, which is short where they follow each other; `lines_of` reads it.

    >>> as_ranges([1, 2, 3, 7, 9, 10])
    '1-3,7,9-10'
    """
    found: list[list[int]] = []
    for line in sorted(lines):
        if found and line == found[-1][1] + 1:
            found[-1][1] = line
        else:
            found.append([line, line])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in found)


def lines_of(ranges: str) -> frozenset[int]:
    """The numbers again.

    >>> sorted(lines_of("1-3,7,9-10"))
    [1, 2, 3, 7, 9, 10]
    """
    found: set[int] = set()
    for part in filter(None, ranges.split(",")):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def _is_unchanged(also: Mapping[str, str], hashes: dict[str, str]) -> bool:
    for path, before in also.items():
        if path not in hashes:
            hashes[path] = content_hash(Path(path))
        if hashes[path] != before:
            return False
    return True


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


def failed_outcomes(words: Sequence[str]) -> set[SweptOutcome]:
    """What `--retry` names: outcomes, or `failed` for all of them that are failures."""
    return {one for word in words for one in (FAILURES if word == "failed" else (SweptOutcome(word),))}
