"""Judging in several processes: one file at a time each; one that dies costs the file that it died of.

The parent never imports the engine: it sends files to its processes and takes judgements back, both pickled, over the
pipes of stdin and stdout. What the processes need is imported in `serve`.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from exportlint.static.judgement import Judgement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.files import SourceFile
    from exportlint.finding import Wanted
    from exportlint.registry import RuleInfo


# A new interpreter, not a fork: threads and whatever the caller has open stay out of it.
_START = (
    "import pickle, sys; sys.path[:] = pickle.load(sys.stdin.buffer); "
    "from exportlint.static.worker_pool import serve; serve()"
)
_TRIES = 2


class WorkerPool:
    """A process for each of `jobs` threads that ask for judgements; they end with the `with` block.

    asked   the absolute paths that findings are wanted for
    given   texts that stand for what lies in files, which others may import
    wanted, mended_at   as of `check_file`
    """

    def __init__(
        self,
        asked: frozenset[str],
        rules: Sequence[RuleInfo],
        targets: Sequence[DeclaredTarget],
        jobs: int,
        *,
        wanted: Wanted,
        mended_at: Mapping[str, frozenset[int]],
        given: Mapping[Path, str],
    ) -> None:
        self._task = (asked, [rule.name for rule in rules], targets, wanted, mended_at, given)
        self._threads = ThreadPoolExecutor(jobs)
        self._mine = threading.local()
        self._all: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> WorkerPool:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, *_error: object) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for process in self._all:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe:
                    with suppress(OSError):
                        pipe.close()

    def judged(
        self, files: Mapping[SourceFile, Mapping[str, frozenset[int]]]
    ) -> Iterator[tuple[SourceFile, Judgement]]:
        """The judgement of each file, in the order in which they are ready. `files`: each with the lines of other files
        for which it makes rewrites."""
        waiting = {self._threads.submit(self._check_file, file, lines): file for file, lines in files.items()}
        for future in as_completed(waiting):
            yield waiting[future], future.result()

    def _check_file(self, file: SourceFile, elsewhere: Mapping[str, frozenset[int]]) -> Judgement:
        """A process may be killed for what others did to it, so the file gets a second one."""
        code: int | None = None
        for _ in range(_TRIES):
            process = getattr(self._mine, "process", None) or self._start()
            try:
                _send(process, (file, elsewhere))
                answer = _receive(process)
            except (EOFError, OSError, pickle.UnpicklingError):
                self._mine.process = None
                code = process.wait()
            else:
                return answer
        ending = f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"
        message = f"judging this file ended the process ({ending}); please report it with the file"
        return Judgement(str(file.absolute), failed=(message,))

    def _start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", _START]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._all.append(process)
        self._mine.process = process
        with suppress(OSError):  # it is dead already, which the first file finds out
            _send(process, sys.path)
            _send(process, self._task)
        return process


def _send(process: subprocess.Popen[bytes], what: Any) -> None:
    assert process.stdin is not None  # noqa: S101 - it was opened as a pipe
    pickle.dump(what, process.stdin)
    process.stdin.flush()


def _receive(process: subprocess.Popen[bytes]) -> Judgement:
    assert process.stdout is not None  # noqa: S101 - as above
    answer: Judgement = pickle.load(process.stdout)  # noqa: S301 - from our own process
    return answer


def serve() -> None:
    """What a process does: judge files until stdin ends.

    A rule that prints does so on stderr, and Ctrl-C is the parent's affair.
    """
    from exportlint.engine.entry.declared_target import files_named_by  # noqa: PLC0415 (not in the parent, which only waits)
    from exportlint.engine.source.parsed import FileStore  # noqa: PLC0415 (as above)
    from exportlint.engine.source.symbols import ProjectIndex  # noqa: PLC0415 (as above)
    from exportlint.registry import all_rules  # noqa: PLC0415 (as above)
    from exportlint.static.check_file import check_file  # noqa: PLC0415 (as above)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(5_000_000, 50, 10_000)  # as in the command line: syntax trees live long and hold no cycles
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    asked, names, targets, wanted, mended_at, given = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
    rules = [all_rules()[name] for name in names]
    files = FileStore()
    for path, text in given.items():
        files.give(path, text)
    index = ProjectIndex(files, files_named_by(targets))
    while True:
        try:
            file, elsewhere = pickle.load(sys.stdin.buffer)  # noqa: S301 - as above
        except EOFError:
            return
        judgement = check_file(
            file, index, rules, asked, targets, wanted=wanted, mended_at=mended_at, mended_elsewhere=elsewhere
        )
        pickle.dump(judgement, out)
        out.flush()
