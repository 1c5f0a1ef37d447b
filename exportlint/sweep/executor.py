"""Where targets are tried: processes of this machine, or another executor with the same small door.

An executor takes what is to be tried and gives each back when it is done, in any order. It starts no more than there is
room for, and what ends a worker costs the one target that was in it.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

import psutil

if TYPE_CHECKING:
    from concurrent.futures import Future

Job = TypeVar("Job")
Result = TypeVar("Result")
LOST = "the worker that tried it was ended from outside (out of memory?)"


@dataclass(frozen=True, slots=True)
class Done(Generic[Job, Result]):
    """A job with its result; without one, why there is none."""

    job: Job
    result: Result | None
    lost: str = ""


class Executor(Protocol[Job, Result]):
    """Tries jobs somewhere."""

    def results(self, jobs: Iterable[Job]) -> Iterator[Done[Job, Result]]:
        """Each job once, in the order in which they end. Jobs are taken as there is room for them, so that a hundred
        thousand need no memory. Closing the iterator ends what runs."""


@dataclass(frozen=True, slots=True)
class LocalExecutor(Generic[Job, Result]):
    """Processes of this machine, which stay for many jobs.

    work        a function that can be pickled, called with one job in a worker
    workers     how many processes
    reserve_mb  free memory without which no further job starts while others run
    """

    work: Callable[[Job], Result]
    workers: int
    reserve_mb: int = 0

    def results(self, jobs: Iterable[Job]) -> Iterator[Done[Job, Result]]:
        """As the protocol says."""
        pool = self._pool()
        running: dict[Future[Result], Job] = {}
        suspects: list[Job] = []
        try:
            for job in jobs:
                while running and (len(running) >= self.workers or not self._has_room()):
                    yield from self._ended(running, suspects)
                if suspects:
                    yield from self._alone(suspects, running)
                    pool = self._renewed(pool)
                try:
                    running[pool.submit(self.work, job)] = job
                except BrokenProcessPool:
                    suspects.append(job)
            while running:
                yield from self._ended(running, suspects)
            yield from self._alone(suspects, running)
        finally:
            _end(pool)

    def _ended(self, running: dict[Future[Result], Job], suspects: list[Job]) -> Iterator[Done[Job, Result]]:
        """Wait until one is done, or memory may have become free. A worker that is gone takes all of its pool along,
        and nobody says which job it was: they are suspects."""
        done, _ = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
        for future in done:
            job = running.pop(future)
            try:
                result = future.result()
            except BrokenProcessPool:
                suspects.append(job)
            else:
                yield Done(job, result)

    def _alone(self, suspects: list[Job], running: dict[Future[Result], Job]) -> Iterator[Done[Job, Result]]:
        """One after the other, each in a pool of its own: the one that ends its worker again is lost."""
        while running:
            yield from self._ended(running, suspects)
        while suspects:
            job = suspects.pop()
            pool = self._pool(1)
            try:
                yield Done(job, pool.submit(self.work, job).result())
            except BrokenProcessPool:
                yield Done(job, None, LOST)
            finally:
                _end(pool)

    def _renewed(self, pool: ProcessPoolExecutor) -> ProcessPoolExecutor:
        _end(pool)
        return self._pool()

    def _pool(self, workers: int | None = None) -> ProcessPoolExecutor:
        # Not forked: this process may have threads.
        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(workers or self.workers, mp_context=context, initializer=_prepared)

    def _has_room(self) -> bool:
        return bool(psutil.virtual_memory().available > self.reserve_mb * 1_000_000)


def _prepared() -> None:
    """In a worker: it says nothing on the terminal, and does not outlive who started it, not even after `kill -9`."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):
        quiet = os.open(os.devnull, os.O_WRONLY)
        sys.stderr.flush()
        os.dup2(quiet, 2)
        os.close(quiet)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _end(pool: ProcessPoolExecutor) -> None:
    """Now, whatever its workers do; what they started ends with them."""
    workers = list((getattr(pool, "_processes", None) or {}).values())
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        with suppress(OSError, ValueError):
            worker.terminate()
    for worker in workers:
        worker.join(10)
