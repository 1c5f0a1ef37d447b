"""What workers of the tests do in place of a trial."""

from __future__ import annotations

import os
import signal
import sys
import time
from functools import partial
from pathlib import Path

from exportlint.sweep.executor import LocalExecutor


def double(job: int) -> int:
    return 2 * job


def ends_at_13(job: int) -> int:
    if job == 13:
        os.kill(os.getpid(), signal.SIGKILL)
    return 2 * job


def waits(job: int, folder: str) -> int:
    Path(folder, f"{job}-{os.getpid()}").touch()
    time.sleep(60)
    return job


def ends_or_waits(job: int, folder: str) -> int:
    return job if job == 0 else waits(job, folder)


def notes_node(job: int, folder: str) -> int:
    import ray  # noqa: PLC0415 (in a worker of it)

    Path(folder, f"{ray.get_runtime_context().get_node_id()}-{job}").touch()
    time.sleep(0.3)
    return 2 * job


if __name__ == "__main__":
    for _ in LocalExecutor(partial(waits, folder=sys.argv[1]), workers=2).results(range(4)):
        pass
