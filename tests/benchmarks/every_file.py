"""The static pass over every Python file of folders: does it crash, hang, or answer otherwise in another process?

    python tests/benchmarks/every_file.py [FOLDER]… [--sample N]

Without folders: the standard library and site-packages. Each file is judged alone, in a process that judges others as
well; what any file makes of the tool (an error of ours, more than 5 seconds, a process that died) is listed.
"""

from __future__ import annotations

import argparse
import random
import sys
import sysconfig
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from exportlint.engine.source.parsed import FileStore
from exportlint.engine.source.symbols import ProjectIndex
from exportlint.files import SourceFile
from exportlint.registry import all_rules
from exportlint.static.check_file import check_file

SECONDS = 5.0
INDEX = ProjectIndex(FileStore())


def one(path: Path) -> tuple[float, tuple[str, ...], str]:
    """Processor seconds, errors of ours, and what kind of answer it was."""
    start = time.process_time()
    judgement = check_file(
        SourceFile(path, path.as_posix()), INDEX, tuple(all_rules().values()), frozenset((str(path),))
    )
    answer = "suspicions" if judgement.suspicions else "is not judged" if judgement.wrong else "nothing"
    return time.process_time() - start, judgement.failed, answer


def main() -> int:
    """The number of files that went wrong is the exit code, at most 1."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--sample", type=int, help="only so many files, drawn with a fixed seed")
    parser.add_argument("--jobs", type=int, default=1)
    options = parser.parse_args()
    paths = sysconfig.get_paths()
    folders = options.folders or [Path(paths["stdlib"]), Path(paths["purelib"])]
    files = sorted({path.resolve() for folder in folders for path in folder.rglob("*.py") if path.is_file()})
    if options.sample:
        files = sorted(random.Random(0).sample(files, min(options.sample, len(files))))  # noqa: S311 - a sample
    wrong = report(files, options.jobs)
    return 1 if wrong else 0


def report(files: list[Path], jobs: int) -> int:
    answers: Counter[str] = Counter()
    slowest: list[tuple[float, Path]] = []
    wrong = 0
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(one, path): path for path in files}
        for future in as_completed(futures):
            path = futures.pop(future)
            try:
                seconds, failed, answer = future.result()
            except BrokenProcessPool:
                print(f"{path}: a process died on this file or beside it")  # noqa: T201
                return wrong + 1
            answers[answer] += 1
            slowest.append((seconds, path))
            if failed or seconds > SECONDS:
                wrong += 1
                print(f"{path}: {seconds:.1f} s {' | '.join(failed)}", flush=True)  # noqa: T201
    print(f"{len(files)} files: {dict(answers)}; {wrong} went wrong")  # noqa: T201
    for seconds, path in sorted(slowest, reverse=True)[:5]:
        print(f"  {seconds:.2f} s  {path}")  # noqa: T201
    return wrong


if __name__ == "__main__":
    sys.exit(main())
