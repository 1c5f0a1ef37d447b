"""What a sweep costs beside its trials: `python tests/benchmarks/sweep_scale.py [--targets N] [--workers N]`.

The targets are stubs, whose results are as large as those of real ones (ten stages, a report of 4 kB); one of a hundred
fails with two causes. Printed: targets a second through executor and store, this process's memory on the way, the size
of the store, and how long `sweep show` takes to read it.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from exportlint.output.sweeps.page import as_text
from exportlint.output.sweeps.summary import page_of, summarized
from exportlint.sweep.executor import LocalExecutor
from exportlint.sweep.result import Cause, Planned, SweepResult, SweptOutcome, SweptStage
from exportlint.sweep.store import opened
from exportlint.trial.protocol.target import Target, TargetKind

_STAGES = [
    "load",
    "eager",
    "export-non-strict",
    "export-strict",
    "explain",
    "soundness",
    "dynamic-shapes",
    "decompose",
    "save-load",
    "lower-x",
]
_FILES, _LINES = 12, 150


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")


def stub(job: Planned) -> SweepResult:
    """A result as a trial gives one, at once."""
    number = int(job.target.name.partition(":")[2])
    fails = number % 100 == 0
    stages = tuple(SweptStage(name, "passed", 0.5, "", None) for name in _STAGES)
    cause = Cause(f"rule-{number % 17}", _STAGES[2], "error", "lib/a.py", number % 500, f"torch refuses {number % 40}")
    noise = hashlib.sha512(job.key.encode()).hexdigest() * 32
    return SweepResult(
        job.key,
        SweptOutcome.REFUSED if fails else SweptOutcome.EXPORTS,
        "RuntimeError: torch says no" if fails else "",
        "2026-01-01T00:00:00.000+00:00",
        5.0,
        stages,
        (cause, cause) if fails else (),
        ran={f"lib/part{part}.py": tuple(range(1, _LINES)) for part in range(_FILES)},
        report={"noise": noise},
    )


def planned(number: int) -> Planned:
    name = f"stub:{number}"
    key = hashlib.sha256(name.encode()).hexdigest()[:32]
    return Planned(key, Target(name, TargetKind.ZOO, name), "stub", f"family{number % 200}", {"torch": "2.13.0"})


def _jobs(number: int) -> Iterator[Planned]:
    return (planned(one) for one in range(number))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--targets", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=2)
    asked = parser.parse_args()
    own = psutil.Process()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "store.sqlite")
        with opened(path, create=True) as store:
            began = time.perf_counter()
            store.begin(["stub:*"], {}, "2.13.0", _jobs(asked.targets))
            say(f"planned: {asked.targets / (time.perf_counter() - began):,.0f} targets a second")
            began, memory = time.perf_counter(), []
            executor = LocalExecutor(stub, asked.workers)
            for count, done in enumerate(executor.results(_jobs(asked.targets)), 1):
                assert done.result
                store.add(done.result)
                if count % max(1, asked.targets // 4) == 0:
                    memory.append(own.memory_info().rss / 1e6)
            rate = asked.targets / (time.perf_counter() - began)
            say(f"tried and kept: {rate:,.0f} targets a second with {asked.workers} workers")
            say(f"memory after each quarter: {', '.join(f'{one:.0f}' for one in memory)} MB")
        size = sum(one.stat().st_size for one in Path(folder).iterdir())
        say(f"store: {size / 1e6:,.0f} MB, {size / asked.targets / 1e3:.1f} kB a target")
        began = time.perf_counter()
        with opened(path) as store:
            text = as_text(page_of(summarized(store, store.sweeps()[-1])))
        say(f"show: {time.perf_counter() - began:.2f} s for {len(text.splitlines())} lines")


if __name__ == "__main__":
    main()
