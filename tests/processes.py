"""`exportlint` as people call it, a process of its own; and the processes that it starts."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from pathlib import Path

EXPORTLINT = (sys.executable, "-m", "exportlint")


def exportlint(
    folder: Path, *arguments: str, stdin: bytes = b"", **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run it in the folder; whatever happens, it never shows a traceback."""
    variables = {**os.environ, **environment}
    done = subprocess.run(
        [*EXPORTLINT, *arguments], cwd=folder, input=stdin, capture_output=True, env=variables, check=False
    )
    out, err = done.stdout.decode(), done.stderr.decode()
    assert "Traceback" not in out + err
    return subprocess.CompletedProcess(done.args, done.returncode, out, err)


def children() -> list[psutil.Process]:
    """Every process that this one has started, however indirectly."""
    return psutil.Process().children(recursive=True)


def has_ended(process: psutil.Process) -> bool:
    """Gone, or a zombie that nobody has asked for yet."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def all_end(processes: list[psutil.Process], seconds: float = 10.0) -> bool:
    """Wait for them to end; False when one still runs after the seconds."""
    until = time.monotonic() + seconds
    while not all(map(has_ended, processes)):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True
