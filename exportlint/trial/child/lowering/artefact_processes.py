"""Run an artefact in a process that has nothing but its runtime: a program of its own, or a fork of a process that has
torch.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.leaf_files import read_leaves, write_leaves
from exportlint.trial.child.lowering import run_artefact
from exportlint.trial.child.lowering.torch_forks import ask_for_fork, number_of
from exportlint.trial.child.server.process_control import counted_in
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import exit_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from exportlint.lowering.backend import Lowering

# The process that an artefact runs in, from outside: a program of its own, or a fork of a process that has torch.


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


# Run an artefact in a process that has nothing but its runtime.


@dataclass(frozen=True)
class ArtefactAnswer:
    """What came back.

    calls      for each call that was finished, the leaves of the outputs and the inputs as the call left them
    step       import, load or run, where something failed
    raised     what was raised there
    ended      how the process ended, where it did not answer
    timed_out  it was ended, since it took too long
    printed    the last words of the process; a runtime in C++ says there why it gives up
    """

    calls: list[tuple[list[Any], list[Any]]] = field(default_factory=list)
    step: str = ""
    raised: Observation | None = None
    ended: str = ""
    timed_out: bool = False
    printed: str = ""

    @property
    def ok(self) -> bool:
        return self.raised is None and not self.ended


DONE = "done"
_MOST_PRINTED = 8000


class FreshProcess:
    """A process of its own for one artefact; leaving it ends it."""

    def __init__(self, name: str, lowering: Lowering, folder: Path) -> None:
        """`name`: how the process finds the class of the lowering."""
        self._folder = Path(tempfile.mkdtemp(prefix="fresh-", dir=folder))
        kind = ArtefactFork if _needs_torch(lowering) else ArtefactProgram
        self._process = kind(name, lowering.settings, self._folder)

    def __enter__(self) -> FreshProcess:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._process.end()

    def run(
        self, artefact: Path, facts: Mapping[str, Any], calls: Sequence[Sequence[Any]], seconds: float = 120.0
    ) -> ArtefactAnswer:
        """Load the artefact and call it with the leaves of each call, in this order, in one process."""
        files = [self._folder / f"call-{number}" for number in range(len(calls))]
        for file, leaves in zip(files, calls, strict=True):
            write_leaves(file, leaves)
        names = list(map(str, files))
        request = {"artefact": str(artefact), "facts": facts, "calls": names, "answer": str(self._folder)}
        code = self._process.finish(json.dumps(request), seconds)
        if code is None:
            return self._results(f"no answer within {seconds:g} s", timed_out=True)
        return self._results(exit_in_words(code), timed_out=False)

    def _results(self, ended: str, *, timed_out: bool) -> ArtefactAnswer:
        answer = self._folder / "answer.json"
        said: dict[str, Any] = {"step": "import", "calls": 0}
        if answer.exists():
            said = json.loads(answer.read_text("utf-8"))
        numbers = range(said["calls"])
        calls = [tuple(read_leaves(self._folder / f"{what}-{n}") for what in ("outputs", "inputs")) for n in numbers]
        raised = Observation.from_dict(said["raised"]) if "raised" in said else None
        if raised or said["step"] == DONE:
            return ArtefactAnswer(calls, said["step"] if raised else "", raised, printed=self._printed)  # type: ignore[arg-type]
        return ArtefactAnswer(calls, said["step"], None, ended, timed_out, self._printed)  # type: ignore[arg-type]

    @property
    def _printed(self) -> str:
        return (self._folder / "output").read_text("utf-8", "replace")[-_MOST_PRINTED:]


def _needs_torch(lowering: Lowering) -> bool:
    return "torch" in lowering.runtime and not lowering.environment
