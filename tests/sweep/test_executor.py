"""Jobs in processes of this machine."""

from __future__ import annotations

import itertools
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import psutil
import stub_work
from processes import all_end

from exportlint.sweep.executor import LOST, LocalExecutor


def test_each_job_is_done_once_and_no_more_are_taken_than_there_is_room_for() -> None:
    taken: list[int] = []

    def jobs():
        for number in range(200):
            taken.append(number)
            yield number

    seen = []
    for done in LocalExecutor(stub_work.double, workers=2).results(jobs()):
        seen.append((done.job, done.result))
        assert len(taken) - len(seen) <= 2
    assert sorted(seen) == [(number, 2 * number) for number in range(200)]


def test_what_ends_its_worker_costs_no_other_job() -> None:
    done = list(LocalExecutor(stub_work.ends_at_13, workers=2).results(range(20)))
    assert [one.lost for one in done if one.result is None] == [LOST]
    assert sorted((one.job, one.result) for one in done if one.job != 13) == [(n, 2 * n) for n in range(20) if n != 13]


def test_where_no_memory_is_free_jobs_run_one_after_the_other(tmp_path: Path) -> None:
    never_free = 10**9  # MB
    results = LocalExecutor(stub_work.double, workers=2, reserve_mb=never_free).results(range(5))
    assert [one.result for one in results] == [0, 2, 4, 6, 8]


def started(folder: Path, number: int) -> list[int]:
    """The processes in which a job has begun."""
    until = time.monotonic() + 60
    while len(found := list(folder.iterdir())) < number:
        assert time.monotonic() < until
        time.sleep(0.05)
    return [int(path.name.partition("-")[2]) for path in found]


def test_who_takes_no_more_ends_the_workers(tmp_path: Path) -> None:
    results = LocalExecutor(partial(stub_work.ends_or_waits, folder=str(tmp_path)), workers=2).results(
        itertools.count()
    )
    assert next(results).job == 0
    workers = [psutil.Process(number) for number in started(tmp_path, 1)]
    results.close()
    assert all_end(workers)


def test_workers_do_not_outlive_who_started_them(tmp_path: Path) -> None:
    program = subprocess.Popen([sys.executable, stub_work.__file__, str(tmp_path)])
    workers = [psutil.Process(number) for number in started(tmp_path, 2)]
    program.kill()
    program.wait()
    assert all_end(workers)
