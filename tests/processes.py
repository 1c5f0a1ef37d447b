"""`exportlint` as people call it, a process of its own; and the processes that it starts."""

from __future__ import annotations

import functools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from exportlint.trial.parent.server import BOOTSTRAP, WARM

if TYPE_CHECKING:
    from collections.abc import Mapping

EXPORTLINT = (sys.executable, "-m", "exportlint")


def _read_by_python(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if name.startswith("PYTHON")}


_STARTED_WITH = _read_by_python(os.environ)


def exportlint(
    folder: Path | None, *arguments: str, stdin: bytes = b"", afresh: bool = False, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run it in the folder, or in that of the tests; whatever happens, it never shows a traceback.

    A process of its own, but a fork of one that has imported it already, and so are those in which it loads torch:
    else the tests spend a fifth of their time on imports. Not where the environment changes how Python starts, and
    `afresh` as a shell would start it.
    """
    variables = {**os.environ, **environment}
    if afresh:
        variables.pop(WARM, None)
    if afresh or _read_by_python(variables) != _STARTED_WITH:
        done = subprocess.run(
            [*EXPORTLINT, *arguments], cwd=folder, input=stdin, capture_output=True, env=variables, check=False
        )
        code, out, err = done.returncode, done.stdout.decode(), done.stderr.decode()
    else:
        code, out, err = _forked(folder or Path.cwd(), arguments, stdin, variables)
    assert "Traceback" not in out + err
    return subprocess.CompletedProcess([*EXPORTLINT, *arguments], code, out, err)


def _forked(
    folder: Path, arguments: tuple[str, ...], stdin: bytes, environment: dict[str, str]
) -> tuple[int, str, str]:
    with tempfile.TemporaryDirectory(prefix="exportlint-call-") as streams:
        paths = [Path(streams, name) for name in ("stdin", "stdout", "stderr")]
        for path, content in zip(paths, (stdin, b"", b""), strict=True):
            path.write_bytes(content)
        call = {"folder": str(folder), "arguments": arguments, "environment": environment}
        request = json.dumps({**call, "streams": [str(path) for path in paths]})
        process = _preloaded_cli()
        assert process.stdin
        assert process.stdout
        process.stdin.write(request + "\n")
        process.stdin.flush()
        code = int(process.stdout.readline())
        return code, paths[1].read_text("utf-8"), paths[2].read_text("utf-8")


@functools.cache
def _preloaded_cli() -> subprocess.Popen[str]:
    program = Path(__file__).with_name("preloaded_cli.py")
    return subprocess.Popen([sys.executable, str(program)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def warm_server(folder: Path) -> tuple[Path, subprocess.Popen[bytes]]:
    """A process that listens at the socket, in the folder, and loads torch for who asks; each server is a fork of it."""
    path = folder / "socket"
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(path))
        listening.listen()
        usual = {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0"}
        fd = listening.fileno()
        return path, subprocess.Popen(
            [sys.executable, str(BOOTSTRAP), str(fd)], pass_fds=[fd], env={**usual, **os.environ}
        )


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
