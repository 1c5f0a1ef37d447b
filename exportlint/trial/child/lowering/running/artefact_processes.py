"""The process that an artefact runs in, from outside: a program of its own, or a fork of a process that has torch."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.lowering.running import run_artefact
from exportlint.trial.child.lowering.running.torch_forks import ask_for_fork, number_of
from exportlint.trial.child.server.process_control import counted_in

if TYPE_CHECKING:
    from collections.abc import Mapping


class ArtefactProgram:
    """Started at once, so that it imports its runtime while the program is compiled."""

    def __init__(self, lowering: str, settings: Mapping[str, Any], folder: Path) -> None:
        command = [sys.executable, str(run_artefact.__file__), lowering, json.dumps(settings)]
        with (folder / "output").open("wb") as output:
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=output, cwd=folder, env=_environment()
            )

    def finish(self, request: str, seconds: float) -> int | None:
        """Send the request; the exit code, or None where it had to be ended."""
        try:
            self._process.communicate(request.encode() + b"\n", timeout=seconds)
        except BrokenPipeError:  # it has ended already, which its exit code says
            pass
        except subprocess.TimeoutExpired:
            self.end()
            return None
        return self._process.wait()

    def end(self) -> None:
        """Nothing of it is left."""
        self._process.kill()
        self._process.wait()


class ArtefactFork:
    """Its runtime, torch, is imported already: it starts when there is something to run."""

    def __init__(self, lowering: str, settings: Mapping[str, Any], folder: Path) -> None:
        self._lowering, self._settings, self._folder = lowering, dict(settings), folder

    def finish(self, request: str, seconds: float) -> int | None:
        """As of a program; one is started where no fork can be had."""
        ours, theirs = socket.socketpair()
        with ours:
            with theirs, self._request(request).open("rb") as asked, (self._folder / "output").open("wb") as output:
                forked = ask_for_fork(asked.fileno(), output.fileno(), theirs.fileno())
            if forked:
                return _exit_code(ours, seconds)
        return ArtefactProgram(self._lowering, self._settings, self._folder).finish(request, seconds)

    def end(self) -> None:
        """It has ended when `finish` comes back."""

    def _request(self, request: str) -> Path:
        head = {"lowering": self._lowering, "settings": self._settings, "folder": str(self._folder.absolute())}
        file = self._folder / "request"
        file.write_text(f"{json.dumps({**head, 'environment': _environment()})}\n{request}\n", "utf-8")
        return file


def _exit_code(line: socket.socket, seconds: float) -> int | None:
    """None where it had to be ended. Who waits for it may be gone too, as all processes of a run at its end."""
    gone = -signal.SIGKILL
    pid = number_of(line, None)
    if pid is None:
        return gone
    with counted_in(pid):
        try:
            code = number_of(line, seconds)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)
            number_of(line, None)
            return None
    return gone if code is None else code


def _environment() -> dict[str, str]:
    """Without what makes a target's tracing or hashing special; it runs in a folder of its own, so paths are whole."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONHASHSEED", "TORCH_LOGS")}
    if folders := kept.get("PYTHONPATH"):
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(folder).absolute()) for folder in folders.split(os.pathsep))
    return kept
