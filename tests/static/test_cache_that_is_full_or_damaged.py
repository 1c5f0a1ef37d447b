"""The cache on the disk keeps below its limit, and whatever happens to it, the findings are those of a run without."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest
from processes import exportlint

from exportlint.engine.source.parsed import FileStore
from exportlint.files import SourceFile, collect
from exportlint.registry import all_rules
from exportlint.static import judgement_cache
from exportlint.static.judgement import Judgement
from exportlint.static.judgement_cache import JudgementCache
from exportlint.static.static_pass import StaticOptions, StaticReport, check

RULES = tuple(all_rules().values())
FILES = 25
HELPER = "def pick(x):\n    if x.sum() > 0:\n        return x\n    return -x\n"
# Each of another line, so that an entry that is taken for another one's gives a finding of a wrong place.
MODEL = (
    "{lines}from torch import nn\nfrom helper import pick\n\n\nclass Net{n}(nn.Module):\n"
    "    def forward(self, x):\n        return pick(x).data * {n}\n"
)
HOUR = 3600


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Files that share a helper; the current folder is theirs."""
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "models").mkdir()
    (tmp_path / "models/helper.py").write_text(HELPER, "utf-8")
    for n in range(FILES):
        (tmp_path / f"models/net{n}.py").write_text(MODEL.format(n=n, lines="\n" * n), "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def checked(cache: Path | None, *paths: str, most: int = judgement_cache.MOST_BYTES) -> tuple[StaticReport, int]:
    """The report, and how many files were judged for it."""
    judged: list[int] = []
    options = StaticOptions(cache=cache, cache_bytes=most)
    report = check(collect(paths or ["models"]).files, RULES, options, lambda done, _: judged.append(done))
    return report, len(judged)


def database(cache: Path) -> Path:
    return cache / "judgements.sqlite"


def models(*numbers: int) -> list[str]:
    return [f"models/net{n}.py" for n in numbers]


def test_what_was_not_used_for_longest_is_left_out(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, now, most = project / "cache", int(time.time()), judgement_cache.MOST_BYTES
    old, used, new = range(30), range(30, 60), range(60, 80)

    def at(hour: int, kept: range = range(0), recalled: range = range(0)) -> list[int]:
        """Keep judgements of some 5 KB and recall others at an hour; those that were remembered."""
        monkeypatch.setattr(judgement_cache, "_now", lambda: now + hour * HOUR)
        with JudgementCache(cache, RULES, most_bytes=most) as memory:
            for one in map(large_judgement, kept):
                memory.keep(SourceFile(Path(one.path), one.path), one)
            wanted = {n: large_judgement(n) for n in recalled}
            found = {n: memory.recall(SourceFile(Path(f"/{n}"), ""), FileStore(), frozenset()) for n in recalled}
        assert all(found[n] in (None, wanted[n]) for n in recalled)
        return [n for n in recalled if found[n]]

    at(0, kept=range(60))
    assert at(0, recalled=range(60)) == [*range(60)]
    most = database(cache).stat().st_size * 5 // 4
    assert at(2, recalled=used) == [*used]
    at(4, kept=new)
    assert most // 2 < database(cache).stat().st_size < most, "the file itself, and not by more than it must"
    assert at(4, recalled=new) == [*new]
    assert at(4, recalled=used) == [*used]
    assert len(at(4, recalled=old)) < len(old)


def large_judgement(number: int) -> Judgement:
    """Of a file in which something is wrong that takes many words to say, none of them twice."""
    words = random.Random(number).randbytes(4000).hex()  # noqa: S311 - words, not secrets
    return Judgement(f"/{number}", wrong=((number, words),))


def test_what_nobody_used_for_a_month_is_forgotten(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache, now = project / "cache", int(time.time())
    checked(cache, *models(0, 1))
    monkeypatch.setattr(judgement_cache, "_now", lambda: now + 20 * 24 * HOUR)
    assert checked(cache, *models(1))[1] == 0
    monkeypatch.setattr(judgement_cache, "_now", lambda: now + 40 * 24 * HOUR)
    checked(cache, *models(2))
    assert [checked(cache, one)[1] for one in models(0, 1, 2)] == [1, 0, 0]


def test_a_run_that_remembers_all_writes_nothing(project: Path) -> None:
    """Neither when entries were used, nor a limit that it is far from."""
    cache = project / "cache"
    checked(cache)
    before = database(cache).stat()
    assert checked(cache)[1] == 0
    after = database(cache).stat()
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)


def test_the_user_says_how_large_it_may_become(project: Path) -> None:
    cache = {"EXPORTLINT_CACHE_DIR": str(project / "cache")}
    assert exportlint(project, "models", EXPORTLINT_CACHE_MB="0.03", **cache).returncode == 1
    assert 0 < database(project / "cache").stat().st_size <= 30_000
    for wrong in ("much", "-1", "inf"):
        done = exportlint(project, "models", EXPORTLINT_CACHE_MB=wrong, **cache)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"EXPORTLINT_CACHE_MB is `{wrong}`: write a number of megabytes" in done.stderr


def test_two_runs_at_once_that_leave_out_what_the_other_keeps(project: Path) -> None:
    """One process reads and writes while the other one makes room, all the time."""
    variables = {**os.environ, "EXPORTLINT_CACHE_DIR": str(project / "cache"), "EXPORTLINT_CACHE_MB": "0.03"}
    command = [sys.executable, "-c", WRITES_EACH_BY_ITSELF, "models", "--jobs", "1", "--output-format", "json"]
    alone = exportlint(project, "models", "--no-cache", "--output-format", "json")
    assert len(json.loads(alone.stdout)["findings"]) > FILES
    for _ in range(2):
        pair = [subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=variables) for _ in range(2)]
        for process in pair:
            assert process.communicate() == (alone.stdout, alone.stderr)
        assert database(project / "cache").stat().st_size <= 30_000


WRITES_EACH_BY_ITSELF = (
    "from exportlint.static import judgement_cache; judgement_cache._SECONDS_BETWEEN_COMMITS = 0\n"
    "from exportlint.cli import main; main()"
)


def test_runs_that_are_killed_while_they_write(project: Path) -> None:
    """The journal that SQLite has while it writes shows when; it is left where the run was in the middle."""
    cache = project / "cache"
    journal = database(cache).with_name("judgements.sqlite-journal")
    cold = checked(None)[0]
    command = [sys.executable, "-c", WRITES_EACH_BY_ITSELF, "models", "--jobs", "1"]
    in_the_middle = 0
    for number in range(40):
        helper = project / "models/helper.py"
        helper.write_text(HELPER.replace("-x", f"-x * {number}"), "utf-8")  # nothing that was kept holds
        variables = {**os.environ, "EXPORTLINT_CACHE_DIR": str(cache)}
        with subprocess.Popen(command, stdout=-3, stderr=-3, env=variables) as process:
            until = time.monotonic() + 0.3 * (number % 3)
            while process.poll() is None and not (journal.exists() and time.monotonic() > until):
                pass
            process.send_signal(signal.SIGKILL)
        in_the_middle += journal.exists()
        assert findings(checked(cache)[0]) == findings(cold)
        assert checked(cache)[1] == 0
        if in_the_middle == 3:
            break
    assert in_the_middle == 3


def findings(report: StaticReport) -> list[tuple[object, ...]]:
    return [(one.path, one.line, one.rule) for one in report.findings]


def damage(path: Path, drawn: random.Random) -> str:
    """Do to a file what a cut cable or a bad disk does."""
    data = bytearray(path.read_bytes())
    kind = drawn.choice(["cut", "cut", "a byte", "a byte", "bytes", "a page", "empty", "garbage", "a journal"])
    match kind:
        case "cut":
            del data[drawn.randrange(len(data)) :]
        case "a byte" | "bytes":
            for _ in range(1 if kind == "a byte" else 200):
                data[drawn.randrange(len(data))] ^= 1 << drawn.randrange(8)
        case "a page":
            start = drawn.randrange(len(data) // 4096) * 4096
            data[start : start + 4096] = drawn.choice([bytes(4096), drawn.randbytes(4096), data[:4096]])
        case "empty":
            data.clear()
        case "garbage":
            data = bytearray(drawn.randbytes(len(data)))
        case "a journal":
            path.with_name(path.name + "-journal").write_bytes(drawn.choice([b"", data[:9000], drawn.randbytes(3000)]))
    path.write_bytes(data)
    return kind


def test_a_file_that_is_cut_or_changed_anywhere(project: Path) -> None:
    """And it is whole again some runs later: one that comes upon the damage begins a file without what it has found in
    the old one."""
    drawn = random.Random(20261128)  # noqa: S311 - damages, not secrets
    cache = project / "cache"
    names = models(*range(8))
    cold, _ = checked(None, *names)
    checked(cache, *names)
    judged_again = 0
    for number in range(50):
        kind = damage(database(cache), drawn)
        found, judged = checked(cache, *names)
        assert found == cold, f"{kind}, {number}"
        judged_again += judged > 0
        for _ in range(4):
            found, judged = checked(cache, *names)
            assert found == cold, f"{kind}, {number}"
        assert judged == 0, f"{kind}, {number}: what was lost is kept again"
    assert judged_again > 15


def test_an_entry_in_the_place_of_another_one_is_none(project: Path) -> None:
    """It can be read, and stands where nobody but a damaged index put it."""
    cache = project / "cache"
    cold, _ = checked(cache, *models(1, 2))
    with sqlite3.connect(database(cache)) as kept:
        (one, first), (other, second) = kept.execute("SELECT key, judgement FROM judgements").fetchall()
        assert first != second
        kept.executemany("UPDATE judgements SET judgement = ? WHERE key = ?", [(second, one), (first, other)])
    assert checked(cache, *models(1, 2)) == (cold, 2)
    assert checked(cache, *models(1, 2)) == (cold, 0)


def test_another_exportlint_has_kept_its_own_in_the_file(project: Path) -> None:
    cache = project / "cache"
    cache.mkdir()
    with sqlite3.connect(database(cache)) as kept:
        kept.execute("CREATE TABLE judgements (path TEXT, version TEXT, day INTEGER, judgement TEXT)")
    assert checked(cache, *models(1))[0] == checked(None, *models(1))[0]
    assert checked(cache, *models(1))[1] == 0


def test_a_lock_that_nobody_gives_back_costs_one_wait(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run remembers nothing then; it does not wait for each file."""
    cache = project / "cache"
    monkeypatch.setattr(judgement_cache, "_SECONDS_FOR_A_LOCK", 0.2)
    cold, _ = checked(cache)
    with sqlite3.connect(database(cache)) as other:
        other.execute("BEGIN EXCLUSIVE")
        begun = time.monotonic()
        assert checked(cache) == (cold, FILES + 1)
        assert time.monotonic() - begun < 0.2 * FILES
        other.rollback()
    assert checked(cache) == (cold, 0), "and nothing is lost"
