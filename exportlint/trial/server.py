"""The parent's end: it starts the processes of a trial, limits them, and never leaves one behind."""

from __future__ import annotations

import json
import os
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from exportlint.trial.limits import Limits, Overrun, kill_group, runs
from exportlint.trial.observation import Observation
from exportlint.trial.report import TrialUnavailable
from exportlint.trial.stacks import stack_of, stacks, tail

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.target import Target

_START_SECONDS = 180.0


@dataclass
class Answered:
    """What a process told before it ended: messages, and how it ended (`overrun` when a limit ended it)."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    ended: str = ""
    overrun: Overrun | None = None
    seconds: float = 0.0
    stack: str = ""
    output: str = ""

    @property
    def final(self) -> Mapping[str, Any] | None:
        """The message with the status, if the stage came so far."""
        return next((m for m in self.messages if "status" in m), None)

    @property
    def targets(self) -> list[dict[str, Any]]:
        """Of a script: what it gave."""
        return [message for message in self.messages if "target" in message]

    @property
    def observations(self) -> tuple[Observation, ...]:
        return tuple(Observation.from_dict(m["observation"]) for m in self.messages if "observation" in m)


class Line:
    """JSON lines over a socket, with a time limit."""

    def __init__(self, line: socket.socket) -> None:
        self.socket = line
        self._rest = b""

    def send(self, message: Mapping[str, Any], *fds: int) -> None:
        data = json.dumps(message).encode()
        if fds:
            socket.send_fds(self.socket, [data], list(fds))
        else:
            self.socket.sendall(data)

    def read(self, seconds: float) -> dict[str, Any] | None:
        """The next message; None when nothing came in time. EOFError when the other end is gone."""
        until = time.monotonic() + seconds
        while b"\n" not in self._rest:
            if not select.select([self.socket], [], [], max(0.0, until - time.monotonic()))[0]:
                return None
            data = self._received()
            if not data:
                raise EOFError
            self._rest += data
        head, _, self._rest = self._rest.partition(b"\n")
        message: dict[str, Any] = json.loads(head)
        return message

    def _received(self) -> bytes:
        try:
            return self.socket.recv(1 << 16)
        except ConnectionError:
            return b""


class Server:
    """A process that has torch loaded and forks one process for each target."""

    def __init__(self, python: Path | None, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._output = folder / "server"
        self._waiting: dict[str, TargetProcess] = {}
        self._hosts: list[TargetProcess] = []
        ours, theirs = socket.socketpair()
        self._line = Line(ours)
        command = [str(python or sys.executable), str(Path(__file__).with_name("bootstrap.py")), str(theirs.fileno())]
        self._process = self._started(command, theirs)
        self.facts = self._ready(command[0])

    def _started(self, command: list[str], theirs: socket.socket) -> subprocess.Popen[bytes]:
        # What torch and its compilers keep between calls goes away with the run.
        kept = {"TMPDIR": str(self.folder), "TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor")}
        environment = {"OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "", **os.environ, **kept}
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
            raise TrialUnavailable(f"{python} did not start the trial: {tail(self._output) or 'it said nothing'}")
        if "missing" in facts:
            self.close()
            raise TrialUnavailable(
                f"a trial needs torch, and {facts['python']} has none ({facts['missing']}); "
                f"install it: {facts['python']} -m pip install torch"
            )
        return facts

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def target_process(self, name: str) -> TargetProcess:
        """A fresh fork, its folder below the run's; or the process in which a script's run left the target."""
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
        return TargetProcess(Line(ours), answer["pid"], folder)

    def script(self, target: Target, limits: Limits) -> Answered:
        """Run a script; the processes of the targets that it gives wait here."""
        host = self.target_process(target.name)
        self._hosts.append(host)  # it adopts those processes, and stays for them
        answered, lines = host.script(target, limits)
        for message, line in zip(answered.targets, lines, strict=True):
            process = TargetProcess(Line(line), message["pid"], Path(message["folder"]))
            self._waiting[message["target"]["name"]] = process
        return answered

    def close(self) -> None:
        for process in (*self._waiting.values(), *self._hosts):
            process.close()
        kill_group(self._process.pid)
        self._line.socket.close()
        self._process.wait()


@dataclass
class TargetProcess:
    """The process that has imported one target; each stage is a fork of it.

    Also the process of a stage that is held, whose followers are forks of it; `above` is then the target's own.
    """

    line: Line
    pid: int
    folder: Path
    above: TargetProcess | None = None
    stage_pid: int | None = None

    def load(self, target: Target, search: list[str], limits: Limits) -> Answered:
        """Import the target. No message: the import ended the process, or a limit did."""
        self.line.send({"target": target.to_dict(), "path": search})
        return self._watched(self.pid, limits, self.folder / "output", None)

    def stage(self, name: str, module: str, options: Mapping[str, Any], limits: Limits) -> Answered:
        """Run one stage in a fork; comes back when it ended, by itself or by a limit."""
        request = self._request(name, module, options)
        folder = Path(request["folder"])
        reading, writing = os.pipe()
        with os.fdopen(reading, "rb", buffering=0) as answers:
            self.stage_pid = self._sent(request, writing)
            answered = self._watched(self.stage_pid, limits, folder / "output", answers)
        kill_group(self.stage_pid)
        self.stage_pid = None
        shutil.rmtree(folder, ignore_errors=True)
        return answered

    def script(self, target: Target, limits: Limits) -> tuple[Answered, list[socket.socket]]:
        """Run a script in a fork; with the lines to the targets' processes, in the order of their messages."""
        folder = tempfile.mkdtemp(prefix="script-", dir=self.folder)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)  # keeps together what is sent together
        with ours:
            request = {"script": target.source, "arguments": list(target.arguments), "folder": folder}
            self.stage_pid = self._sent(request, theirs.detach())
            answers = _Datagrams(ours)
            answered = self._watched(self.stage_pid, limits, Path(folder, "output"), answers)
        kill_group(self.stage_pid)
        self.stage_pid = None
        return answered, [socket.socket(fileno=fd) for fd in answers.fds]

    def held(
        self, name: str, module: str, options: Mapping[str, Any], limits: Limits
    ) -> tuple[Answered, TargetProcess]:
        """Run one stage and keep its process for the stages that follow; the caller closes it."""
        request = self._request(name, module, options)
        reading, writing = os.pipe()
        ours, theirs = socket.socketpair()
        with os.fdopen(reading, "rb", buffering=0) as answers:
            pid = self._sent({**request, "held": True}, writing, theirs.detach())
            process = TargetProcess(Line(ours), pid, Path(request["folder"]), self)
            answered = process._watched(pid, limits, process.folder / "output", answers, held=True)
        return answered, process

    def _request(self, name: str, module: str, options: Mapping[str, Any]) -> dict[str, Any]:
        # Beside the folders of the other stages, also for one that follows: what eager kept lies there.
        home = self.above.folder if self.above else self.folder
        folder = tempfile.mkdtemp(prefix=f"{name}-", dir=home)
        return {"stage": name, "module": module, "folder": folder, "options": dict(options)}

    def _sent(self, request: Mapping[str, Any], *fds: int) -> int:
        """Send a request with the child's ends of its lines, which are closed here; the pid of the fork."""
        try:
            self.line.send(request, *fds)
        finally:
            for fd in fds:
                os.close(fd)
        message = self.line.read(30.0)
        if message is None:
            raise EOFError
        pid: int = message["pid"]
        return pid

    def _watched(
        self, pid: int, limits: Limits, output: Path, answers: IO[bytes] | _Datagrams | None, *, held: bool = False
    ) -> Answered:
        """Until the process ended; one that is held, until it has answered."""
        answered, told = Answered(), bytearray()
        began = time.monotonic()
        watch = limits.watch(pid, output)
        while not answered.ended:
            _collect(answers, told)
            if held and _is_final(told):
                answered.ended = "held"
                break
            try:
                message = self.line.read(0.05)
            except EOFError:
                message = {"exit": self._ending()}
            if message is None and held and not runs(pid):
                message = {"exit": self._ending()}
            if message is not None:
                answered.ended = message.get("exit", "replied")
                answered.messages = [] if "exit" in message else [message]
            elif answered.overrun is None and (overrun := watch.overrun()):
                answered.overrun, answered.stack = overrun, stack_of(pid, output)
                kill_group(pid)
        _collect(answers, told)
        answered.seconds = time.monotonic() - began
        answered.messages += _messages(told)
        answered.stack = answered.stack or stacks(output)
        answered.output = tail(output)
        return answered

    def _ending(self) -> str:
        """How a held process ended, which only its parent can know."""
        if self.above is None:
            return "the process is gone"
        self.above.line.send({"ended": self.pid})
        message = self.above.line.read(30.0)
        return str((message or {}).get("exit", "the process is gone"))

    def close(self) -> None:
        """End it, with the stage that may still run."""
        # First the processes, then the line: a target that sees the line closed leaves, and its orphans are lost to us.
        for pid in (self.stage_pid, self.pid):
            if pid is not None:
                kill_group(pid)
        self.line.socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class _Datagrams:
    """Messages that may bring a descriptor, read as a pipe is."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self.fds: list[int] = []

    def fileno(self) -> int:
        return self._line.fileno()

    def read(self, size: int) -> bytes:
        data, fds, _, _ = socket.recv_fds(self._line, size, 1)
        self.fds += fds
        return data + b"\n" if data else b""


def _is_final(told: bytearray) -> bool:
    """Has the message with the status come? Before that, nothing is parsed but the last line."""
    return told.endswith(b"\n") and "status" in json.loads(told[told[:-1].rfind(b"\n") + 1 :])


def _collect(answers: IO[bytes] | _Datagrams | None, told: bytearray) -> None:
    """Everything the pipe holds now. A stage that answers more than the pipe holds waits for the next look."""
    while answers is not None and select.select([answers], [], [], 0)[0]:
        data = answers.read(1 << 16)
        if not data:
            return
        told += data


def _messages(told: bytearray) -> list[dict[str, Any]]:
    """Whole lines only: a process that was ended may have left half of one."""
    lines = bytes(told).split(b"\n")[:-1]
    return [json.loads(line) for line in lines]
