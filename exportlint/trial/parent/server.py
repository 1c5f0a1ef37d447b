"""Talk to the process that has torch: start it, ask it for target processes, leave none behind."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.parent.connection import Connection, Reply
from exportlint.trial.parent.hash_seed import VARIABLE, hash_seed
from exportlint.trial.parent.limits import kill_group
from exportlint.trial.parent.stack_dumps import tail
from exportlint.trial.parent.target_process import TargetProcess
from exportlint.trial.parent.unavailable import TrialUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.trial.protocol.options import Limits
    from exportlint.trial.protocol.target import Target


_START_SECONDS = 180.0


class Server:
    """A process that has torch loaded and forks one process for each target."""

    def __init__(self, python: Path | None, folder: Path, seed: str | None = None, preload: Sequence[str] = ()) -> None:
        """`seed`: its PYTHONHASHSEED. `preload`: modules that it imports besides torch."""
        self.folder = folder
        self._python = python
        self._preload = tuple(preload)
        self._lock = threading.Lock()
        self._seed = seed or hash_seed()
        self._output = folder / f"server-{id(self)}"
        self._waiting: dict[str, TargetProcess] = {}
        self._hosts: list[TargetProcess] = []
        self._others: list[Server] = []
        ours, theirs = socket.socketpair()
        self._line = Connection(ours)
        command = [
            str(python or sys.executable),
            str(Path(__file__).parents[1] / "child" / "bootstrap.py"),
            str(theirs.fileno()),
            str(folder),
            *preload,
        ]
        self._process = self._started(command, theirs)
        self.facts = self._ready(command[0])

    def _started(self, command: list[str], theirs: socket.socket) -> subprocess.Popen[bytes]:
        # What inductor keeps goes away with the run, but for the compiled headers, or stays where somebody wants it.
        usual = {"TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"), "OMP_NUM_THREADS": "1"}
        environment = {**usual, "CUDA_VISIBLE_DEVICES": "", **os.environ, VARIABLE: self._seed}
        with theirs, self._output.open("wb") as output:
            try:
                return subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                    env=environment,
                )
            except OSError as exc:
                raise TrialUnavailable(f"cannot start {command[0]}: {exc.strerror}") from exc

    def _ready(self, python: str) -> Mapping[str, Any]:
        try:
            facts = self._line.read(_START_SECONDS)
        except EOFError:
            facts = None
        if facts is None:
            self.close()
            raise TrialUnavailable(f"{python} did not start the trial: {tail(self._output) or 'it printed nothing'}")
        if "missing" in facts:
            self.close()
            raise TrialUnavailable(
                f"a trial needs torch, and {facts['python']} has none ({facts['missing']}); "
                f"install it: {facts['python']} -m pip install torch"
            )
        return facts

    @contextlib.contextmanager
    def with_hashes_of(self, seed: str) -> Iterator[Server]:
        """Another one, whose processes hash strings by another seed."""
        other = Server(self._python, self.folder, seed, self._preload)
        self._others.append(other)
        try:
            yield other
        finally:
            self._others.remove(other)
            other.close()

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def target_process(self, name: str, edited: Mapping[str, str] | None = None) -> TargetProcess:
        """A fresh fork, its folder below the run's; or the process in which a script's run left the target.

        `edited`: path -> source that this process sees in place of the file's.
        """
        if name in self._waiting:
            return self._waiting.pop(name)
        folder = Path(tempfile.mkdtemp(prefix="target-", dir=self.folder))
        ours, theirs = socket.socketpair()
        with theirs, self._lock:
            self._line.send({"output": str(folder / "output"), "name": name}, theirs.fileno())
            try:
                answer = self._line.read(30.0)
            except EOFError:
                answer = None
        if answer is None:
            raise TrialUnavailable(f"the process that holds torch is gone: {tail(self._output)}")
        return TargetProcess(
            Connection(ours), answer["pid"], folder, edited=_written(edited, folder) if edited else None
        )

    def script(self, target: Target, limits: Limits, edited: Mapping[str, str] | None = None) -> Reply:
        """Run a script; the processes of the targets that it gives wait here."""
        host = self.target_process(target.name, edited)
        self._hosts.append(host)  # it adopts those processes, and stays for them
        reply, lines = host.script(target, limits)
        for message, line in zip(reply.targets, lines, strict=True):
            process = TargetProcess(Connection(line), message["pid"], Path(message["folder"]))
            self._waiting[message["target"]["name"]] = process
        return reply

    def end_processes(self) -> None:
        """End everything that runs, so that whoever waits for an answer learns that none comes."""
        kill_group(self._process.pid)
        for server in self._others:
            server.end_processes()

    def close(self) -> None:
        for process in (*self._waiting.values(), *self._hosts):
            process.close()
        kill_group(self._process.pid)
        self._line.socket.close()
        self._process.wait()


def _written(edited: Mapping[str, str], folder: Path) -> str:
    file = folder / "edited.json"
    file.write_text(json.dumps({os.path.realpath(path): text for path, text in edited.items()}), "utf-8")
    return str(file)
