"""The file that keeps results: what is in it is whole, whatever ended who wrote it."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis.strategies import integers, sets

from exportlint.errors import UserError
from exportlint.sweep.result import (
    TABLES,
    Cause,
    GraphBreak,
    Planned,
    Repair,
    SweepResult,
    SweptOutcome,
    SweptStage,
)
from exportlint.sweep.store import MIGRATIONS, as_ranges, failed_outcomes, lines_of, opened
from exportlint.trial.protocol.target import Target, TargetKind


@given(sets(integers(1, 300)))
def test_numbers_of_lines_are_short_and_read_again(lines: set[int]) -> None:
    text = as_ranges(lines)
    assert lines_of(text) == lines
    assert len(text) <= len(",".join(map(str, lines)))


def planned(name: str, family: str = "nets") -> Planned:
    return Planned(f"key of {name}", Target(name, TargetKind.ZOO, name), "zoo", family, {"torch": "2.13.0"})


def result(name: str, outcome: SweptOutcome = SweptOutcome.EXPORTS, started: str = "2026-01-01", **more) -> SweepResult:
    stage = SweptStage("eager", "passed", 0.5, "", None)
    cause = (
        (Cause("some-rule", "eager", "error", "a.py", 3, "it cannot"),) if outcome is not SweptOutcome.EXPORTS else ()
    )
    repair = Repair(SweptOutcome.EXPORTS, (("some-rule", "write this"),), 3, "a diff", 2.5) if cause else None
    return SweepResult(
        f"key of {name}",
        outcome,
        "",
        started,
        1.5,
        (stage,),
        cause,
        (GraphBreak("", "who knows", "a.py", 3, 2),),
        repair,
        {"a.py": (1, 2)},
        report={"n": name},
        **more,
    )


def test_what_is_kept_is_read_again_and_counts_once(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True) as store:
        number = store.begin(["zoo:*"], {"quick": True}, "2.13.0", [planned("a"), planned("b"), planned("c", "others")])
        store.add(result("a", SweptOutcome.CRASHED))
        store.add(result("b"))
        store.add(result("a", SweptOutcome.REFUSED))
    with opened(tmp_path / "store") as store:
        (sweep,) = store.sweeps()
        assert (sweep.number, sweep.specs, sweep.options, sweep.torch) == (
            number,
            ("zoo:*",),
            {"quick": True},
            "2.13.0",
        )
        assert [(one.target, one.outcome) for one in store.rows(number)] == [
            ("a", SweptOutcome.REFUSED),
            ("b", SweptOutcome.EXPORTS),
            ("c", None),
        ]
        assert store.outcomes(number) == {"zoo": {"": 1, "exports": 1, "refused": 1}}
        assert store.outcomes(number, by="family") == {"zoo:nets": {"exports": 1, "refused": 1}, "zoo:others": {"": 1}}
        assert store.stages(number) == [("eager", "passed", 2, 1.0)]
        assert [(one.rule, one.targets, one.example) for one in store.causes(number)] == [("some-rule", 1, "a")]
        assert store.report("key of a") == {"n": "a"}
        assert store.ran(number) == {"a.py": {1, 2}}


def test_what_has_a_good_result_is_not_to_be_tried(tmp_path: Path) -> None:
    beside = tmp_path / "loaded_by_name.py"
    beside.write_text("x = 1\n")
    with opened(tmp_path / "store", create=True) as store:
        hashes = {str(beside): "absent"}
        store.add(result("fails", SweptOutcome.TIMED_OUT))
        store.add(result("passes"))
        store.add(result("made of what changed", also=hashes))
        keys = [f"key of {name}" for name in ("fails", "passes", "made of what changed", "new")]
        assert store.done(keys) == {"key of fails", "key of passes"}
        assert store.done(keys, failed_outcomes(["timed-out"])) == {"key of passes"}
        assert store.done(keys, failed_outcomes(["failed"])) == {"key of passes"}


WRITER = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from test_store import planned, result
from exportlint.sweep.store import opened

with opened(Path(sys.argv[2]), create=True) as store:
    store.begin([], {}, "2.13.0", [planned(str(number)) for number in range(2000)])
    print("begun", flush=True)
    for number in range(2000):
        store.add(result(str(number)))
"""


@pytest.mark.parametrize("seconds", [0, 0.02, 0.05, 0.1, 0.2])
def test_a_process_that_is_killed_leaves_whole_results_each_once(tmp_path: Path, seconds: float) -> None:
    path = tmp_path / "store"
    command = [sys.executable, "-c", WRITER, str(Path(__file__).parent), str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        assert writer.stdout.readline() == "begun\n"
        time.sleep(seconds)
        writer.kill()
    with opened(path) as store:
        number = store.sweeps()[0].number
        kept = [row for row in store.rows(number) if row.outcome]
        assert len(list(store.rows(number))) == 2000
        # Of each that is there every part is: a stage, the lines, the report.
        assert sum(count for *_, count, _ in store.stages(number)) == len(kept)
        assert all(store.report(row.key) == {"n": row.target} for row in kept)
        assert len(list(store.table("stages")[1])) == len(kept)
    with sqlite3.connect(path) as raw:
        assert raw.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert raw.execute("SELECT count(*), count(DISTINCT result) FROM ran").fetchone() == (len(kept), len(kept))


def test_stores_of_shards_become_one(tmp_path: Path) -> None:
    for shard, names in (("one", "ab"), ("two", "bc")):
        with opened(tmp_path / shard, create=True) as store:
            share = (1, 2) if shard == "one" else (2, 2)
            store.begin(["zoo:*"], {}, "2.13.0", [planned(name) for name in names], share)
            for name in names:
                outcome = SweptOutcome.REFUSED if shard == "two" else SweptOutcome.EXPORTS
                store.add(result(name, outcome, started="2026-01-02" if shard == "two" else "2026-01-01"))
    with opened(tmp_path / "all", create=True) as store:
        for shard, new in (("two", 2), ("one", 1), ("two", 0), ("one", 0)):
            with opened(tmp_path / shard) as other:
                assert store.merge(other) == new
        (sweep,) = store.sweeps()
        assert sweep.shards == ((1, 2), (2, 2))
        found = {row.target: row.outcome for row in store.rows(sweep.number)}
        assert found == {"a": SweptOutcome.EXPORTS, "b": SweptOutcome.REFUSED, "c": SweptOutcome.REFUSED}
        rows = {name: list(store.table(name)[1]) for name in TABLES}
        assert {name: len(some) for name, some in rows.items()} == {
            "results": 3,
            "stages": 3,
            "causes": 2,
            "graph-breaks": 3,
            "repairs": 2,
        }
        (one, _) = store.repairs(sweep.number)
        assert (one.target, one.before, one.after, one.rewrites, one.diff) == (
            "b",
            SweptOutcome.REFUSED,
            SweptOutcome.EXPORTS,
            (("some-rule", "write this"),),
            "a diff",
        )


def refusal(path: Path, *, create: bool = False) -> str:
    with pytest.raises(UserError) as caught, opened(path, create=create):
        pass
    return str(caught.value)


def test_what_is_no_store_is_said_and_left_as_it_is(tmp_path: Path) -> None:
    assert refusal(tmp_path / "nothing") == f"{tmp_path}/nothing: there is no such store; `exportlint sweep` writes one"
    text = tmp_path / "notes.txt"
    text.write_text("these are notes, and long enough for SQLite to look at them\n" * 20)
    assert "is no store of exportlint sweep (file is not a database); name another file" in refusal(text, create=True)
    foreign = tmp_path / "foreign"
    with sqlite3.connect(foreign) as raw:
        raw.execute("CREATE TABLE mine (x)")
    before = foreign.read_bytes()
    assert refusal(foreign, create=True).endswith("is a database of another program; name another file")
    assert foreign.read_bytes() == before


def test_a_store_of_a_newer_version_is_not_touched(tmp_path: Path) -> None:
    with opened(tmp_path / "store", create=True):
        pass
    with sqlite3.connect(tmp_path / "store") as raw:
        raw.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    assert f"(version {len(MIGRATIONS) + 1}, this one reads up to {len(MIGRATIONS)})" in refusal(tmp_path / "store")


def test_an_older_store_is_brought_to_this_version_and_keeps_its_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path / "store", create=True) as store:
        number = store.begin([], {}, "2.13.0", [planned("a")])
        store.add(result("a"))
    later = (*MIGRATIONS, "CREATE TABLE of_later (x);")
    monkeypatch.setattr("exportlint.sweep.store.MIGRATIONS", later)
    with opened(tmp_path / "store") as store:
        assert [row.outcome for row in store.rows(number)] == [SweptOutcome.EXPORTS]
    with sqlite3.connect(tmp_path / "store") as raw:
        assert raw.execute("PRAGMA user_version").fetchone() == (len(later),)
        assert raw.execute("SELECT count(*) FROM of_later").fetchone() == (0,)


def test_a_store_of_before_there_were_repairs_shows_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as before:
        before.setattr("exportlint.sweep.store.MIGRATIONS", MIGRATIONS[:1])
        with opened(tmp_path / "store", create=True) as store:
            store.begin([], {}, "2.13.0", [planned("a")])
    with sqlite3.connect(tmp_path / "store") as raw:
        raw.execute("INSERT INTO result VALUES (1, 'key of a', 'refused', 'no', '2026-01-01', 1.0, '{}', '')")
        raw.execute("INSERT INTO cause VALUES (1, 'some-rule', NULL, 'error', 'a.py', 3, 'it cannot')")
    with opened(tmp_path / "store") as store:
        (cause,) = store.causes(1)
        assert (cause.message, cause.mend, cause.tried, store.repairs(1)) == ("it cannot", "", 0, [])


def fill(path: Path, kept: list[str]) -> None:
    with opened(path, create=True) as store:
        pages = store._sql.execute("PRAGMA page_count").fetchone()[0]
        # SQLite refuses to let the file grow, as it does when the system has no more room for it.
        store._sql.execute(f"PRAGMA max_page_count = {pages + 3}")
        while True:
            name = str(len(kept))
            store.add(replace(result(name), report={"n": name, "noise": os.urandom(2000).hex()}))
            kept.append(name)


def test_a_full_disk_keeps_what_was_written(tmp_path: Path) -> None:
    kept: list[str] = []
    with pytest.raises(UserError, match="the disk is full; what was written is kept: make room"):
        fill(tmp_path / "store", kept)
    assert kept
    with opened(tmp_path / "store") as store:
        assert [store.report(f"key of {name}")["n"] for name in kept] == kept
        assert store.report(f"key of {len(kept)}") == {}
