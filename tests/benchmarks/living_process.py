"""What a check costs in a process that lives: nothing changed, and one line changed, with the whole project judged again.

    python tests/benchmarks/living_process.py FOLDER [--edits N]

FOLDER is copied. Printed is one JSON object: seconds of the first check, of a check where nothing changed, the median
and the 95th percentile of those after an edit of the largest file, and the memory of the process in megabytes.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

from exportlint.files import SourceFile, collect
from exportlint.finding import Wanted
from exportlint.registry import all_rules
from exportlint.static.static_pass import StaticOptions, StaticPass


def measured(folder: Path, edits: int) -> dict[str, float]:
    gc.set_threshold(5_000_000, 50, 10_000)  # as the command line does
    living = StaticPass(list(all_rules().values()), StaticOptions(rewrites=Wanted.FIRST))
    found = {"first": seconds(living, folder), "nothing changed": seconds(living, folder)}
    largest = max(folder.rglob("*.py"), key=lambda path: path.stat().st_size)
    lines = largest.read_text("utf-8").split("\n")
    inside = [number for number, line in enumerate(lines) if line.startswith("        ") and line.endswith(")")]
    drawn, after = random.Random(1), list[float]()  # noqa: S311 - lines, not secrets
    for number in drawn.sample(inside, edits):
        lines[number] += "  # edited"
        largest.write_text("\n".join(lines), "utf-8")
        after.append(seconds(living, folder))
    if after:
        found |= {
            "edited, median": statistics.median(after),
            "edited, 95th percentile": sorted(after)[-1 - edits // 20],
        }
    return found | {"megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def seconds(living: StaticPass, folder: Path) -> float:
    start = time.perf_counter()
    files: tuple[SourceFile, ...] = collect([str(folder)], (), folder).files
    living.check(files)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edits", type=int, default=20)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        copy = Path(made, options.folder.name)
        shutil.copytree(options.folder, copy, ignore=shutil.ignore_patterns("__pycache__"))
        json.dump(measured(copy, options.edits), sys.stdout)


if __name__ == "__main__":
    main()
