"""A process that judges: files come on stdin, judgements go out on what was stdout."""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys

from exportlint.engine.source.parsed import FileStore
from exportlint.registry import all_rules
from exportlint.static.check_file import check_file


def serve() -> None:
    """Until stdin ends. A rule that prints does so on stderr, and Ctrl-C is the parent's affair."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.set_threshold(5_000_000, 50, 10_000)  # as in the command line: syntax trees live long and hold no cycles
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    asked, names, targets, rewrites = pickle.load(sys.stdin.buffer)  # noqa: S301 - from our own parent
    rules = [all_rules()[name] for name in names]
    files = FileStore()
    while True:
        try:
            file = pickle.load(sys.stdin.buffer)  # noqa: S301 - as above
        except EOFError:
            return
        pickle.dump(check_file(file, files, rules, asked, targets, rewrites=rewrites), out)
        out.flush()
