"""What a trial costs beside the torch calls that it is made of. Prints ratios and gates nothing.

`python tests/benchmarks/cost_of_a_trial.py [ROUNDS]`: everything in one run, side by side, the smallest of the rounds;
seconds of processor time beside those of the clock, because a busy machine stretches the clock only.
"""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from exportlint.trial.child.server.process_control import adopt_orphans

if TYPE_CHECKING:
    from collections.abc import Callable

HERE = Path(__file__).parent
MODELS = HERE / "models.py"
NAMES = ("Small", "Encoder", "Branches")


class Cost(NamedTuple):
    clock: float
    processor: float


def cost(*arguments: str, ends_with: int = 0) -> Cost:
    """Of `python ARGUMENTS`, with everything that it starts; the benchmark ends where that exits otherwise."""
    before, began = _processor(), time.monotonic()
    ended = subprocess.run([sys.executable, *arguments], check=False, capture_output=True)
    if ended.returncode != ends_with:
        raise SystemExit(f"{' '.join(arguments)} exited with {ended.returncode}: {ended.stderr.decode()[-500:]}")
    clock = time.monotonic() - began
    return Cost(clock, _processor() - before)


def _processor() -> float:
    # What a trial ends, it does not wait for; its time comes to us as the one that adopts it.
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def trial(*targets: str, jobs: int = 1) -> Cost:
    """Of `exportlint trial TARGETS`; a trial that could not run its stages exits 2, and ends the benchmark."""
    return cost("-m", "exportlint", "trial", "--exit-zero", "--jobs", str(jobs), *targets)


def summed(costs: list[Cost]) -> Cost:
    return Cost(*map(sum, zip(*costs, strict=True)))


def beside(name: str, ours: Callable[[], Cost], theirs: Callable[[], Cost], rounds: int, limit: float) -> None:
    """Both in turn, so that the machine's moods reach both."""
    pairs = [(ours(), theirs()) for _ in range(rounds)]
    a, b = (Cost(*map(min, zip(*side, strict=True))) for side in zip(*pairs, strict=True))
    ratios = f"{a.clock / b.clock:.2f} by the clock, {a.processor / b.processor:.2f} by the processor"
    say(f"{name}: {a.clock:.1f} s beside {b.clock:.1f} s, {ratios} (wanted: at most {limit})")


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def many_targets(folder: Path, number: int) -> list[str]:
    """Small models in files of their own."""
    source = (HERE / "models.py").read_text("utf-8")
    files = [folder / f"small_{index}.py" for index in range(number)]
    for file in files:
        file.write_text(source, "utf-8")
    return [f"{file}:Small" for file in files]


def main() -> None:
    adopt_orphans()
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 2
    for name in NAMES:
        beside(
            f"the ladder of {name} beside the same torch calls in one script",
            lambda name=name: trial(f"{MODELS}:{name}"),
            lambda name=name: cost(str(HERE / "by_hand.py"), name),
            rounds,
            1.15,
        )
    with tempfile.TemporaryDirectory() as folder:
        targets = many_targets(Path(folder), 20)
        beside(
            "20 small targets in one run beside 20 runs",
            lambda: trial(*targets),
            lambda: summed([trial(target) for target in targets]),
            1,
            0.6,
        )
        beside(
            "20 small targets with two jobs beside one job",
            lambda: trial(*targets, jobs=2),
            lambda: trial(*targets),
            1,
            1,
        )


if __name__ == "__main__":
    main()
