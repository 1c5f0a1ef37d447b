"""The process that has imported one target, and the stages that are forks of it."""

from __future__ import annotations

import contextlib
import json
import os
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

from exportlint.trial.parent import TrialUnavailable
from exportlint.trial.parent.connection import (
    Connection,
    Datagrams,
    Reply,
    is_final,
    receive,
    stack_of,
    stacks,
    tail,
    whole_messages,
)
from exportlint.trial.parent.hash_seed import VARIABLE, hash_seed
from exportlint.trial.parent.limits import LimitWatch, kill_group, runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.trial.protocol.options import Limits
    from exportlint.trial.protocol.stages import Stage
    from exportlint.trial.protocol.target import Target


@dataclass
class TargetProcess:
    """The process that has imported one target; each stage is a fork of it.

    Also the process of a stage that is held, whose followers are forks of it; `above` is then the process it is a fork
    of. `edited` names the file that holds source to be laid over files. Several threads may ask for stages, which
    then run side by side.
    """

    line: Connection
    pid: int
    folder: Path
    above: TargetProcess | None = None
    stage_pid: int | None = None
    edited: str | None = None
    lock: threading.RLock = field(default_factory=threading.RLock)

    def load(self, target: Target, search: list[str], limits: Limits) -> Reply:
        """Import the target. A reply without a message: the import ended the process, or a limit did."""
        self.line.send({"target": target.to_dict(), "path": search, "edited": self.edited})
        return self._watched(self.pid, limits, self.folder / "output", None)

    def stage(self, stage: Stage, options: Mapping[str, Any], limits: Limits) -> Reply:
        """Run one stage in a fork; comes back when it ended, by itself or by a limit."""
        reply, process = self.held(stage, limits, options)
        process.close()
        return reply

    def script(self, target: Target, limits: Limits) -> tuple[Reply, list[socket.socket]]:
        """Run a script in a fork; with the lines to the targets' processes, in the order of their messages."""
        folder = tempfile.mkdtemp(prefix="script-", dir=self.folder)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)  # keeps together what is sent together
        with ours:
            script = {"script": target.source, "arguments": list(target.arguments)}
            request = {**script, "folder": folder, "edited": self.edited}
            self.stage_pid = self._sent(request, theirs.detach())
            answers = Datagrams(ours)
            reply = self._watched(self.stage_pid, limits, Path(folder, "output"), answers)
        kill_group(self.stage_pid)
        self.stage_pid = None
        return reply, [socket.socket(fileno=fd) for fd in answers.fds]

    def held(
        self, stage: Stage, limits: Limits, options: Mapping[str, Any] | None = None
    ) -> tuple[Reply, TargetProcess]:
        """Run one stage and keep its process for the stages that follow; the caller closes it."""
        request = self._request(stage, options or {})
        reading, writing = os.pipe()
        ours, theirs = socket.socketpair()
        with os.fdopen(reading, "rb", buffering=0) as answers:
            pid = self._sent({**request, "held": True}, writing, theirs.detach())
            process = TargetProcess(Connection(ours), pid, Path(request["folder"]), self)
            reply = process._watched(pid, limits, process.folder / "output", answers, held=True)
        return reply, process

    def _request(self, stage: Stage, options: Mapping[str, Any]) -> dict[str, Any]:
        # Beside the folders of the other stages, also for one that follows: what eager kept lies there.
        home = self.above.folder if self.above else self.folder
        folder = tempfile.mkdtemp(prefix=f"{stage.name}-", dir=home)
        return {"stage": stage.name, "module": stage.module, "folder": folder, "options": dict(options)}

    def _sent(self, request: Mapping[str, Any], *fds: int) -> int:
        """Send a request with the child's ends of its lines, which are closed here; the pid of the fork."""
        with self.lock:
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
        self, pid: int, limits: Limits, output: Path, answers: IO[bytes] | Datagrams | None, *, held: bool = False
    ) -> Reply:
        """Until the process ended; one that is held, until it has answered."""
        reply, received = Reply(), bytearray()
        began = time.monotonic()
        watch = LimitWatch(limits, pid, output)
        while not reply.over:
            receive(answers, received)
            if held and is_final(received):
                break
            if (message := self._next_message(pid, held=held)) is not None:
                reply.over = True
                reply.exit_code = message.get("exit")
                reply.messages = [] if "exit" in message else [message]
            elif reply.overrun is None and (overrun := watch.overrun()):
                reply.overrun, reply.stack = overrun, stack_of(pid, output)
                kill_group(pid)
        receive(answers, received)
        reply.seconds = time.monotonic() - began
        reply.messages += whole_messages(received)
        reply.stack = reply.stack or stacks(output)
        reply.output = tail(output)
        return reply

    def _next_message(self, pid: int, *, held: bool) -> dict[str, Any] | None:
        """The next message of the target's process, such as how a stage ended; None when nothing came in time."""
        try:
            message = self.line.read(0.05)
        except EOFError:
            return {"exit": self._exit_code()}
        return {"exit": self._exit_code()} if message is None and held and not runs(pid) else message

    def _exit_code(self) -> int | None:
        """How a held process ended, which only its parent can know."""
        if self.above is None:
            return None
        with self.above.lock:
            self.above.line.send({"ended": self.pid})
            message = self.above.line.read(30.0) or {}
        return message.get("exit")

    def close(self) -> None:
        """End it, with the stage that may still run."""
        # First the processes, then the line: a target that sees the line closed leaves, and its orphans are lost to us.
        for pid in (self.stage_pid, self.pid):
            if pid is not None:
                kill_group(pid)
        self.line.socket.close()
        shutil.rmtree(self.folder, ignore_errors=True)


# Talk to the process that has torch: start it, ask it for target processes, leave none behind.


_START_SECONDS = 180.0

# The child's program; with the number of a listening socket alone, it loads torch once and then serves every command
# whose environment names that socket: where many follow one another, as in the tests, each is spared the seconds that
# loading takes.
BOOTSTRAP = Path(__file__).parents[1] / "child" / "bootstrap.py"
WARM = "EXPORTLINT_WARM_SERVER"


@dataclass(frozen=True, slots=True)
class _Fork:
    """A server that is no child of this process, so that only the machine knows whether it still runs."""

    pid: int

    def poll(self) -> int | None:
        return None if runs(self.pid) else 0

    def wait(self) -> None:
        while runs(self.pid):
            time.sleep(0.01)


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
        command = [str(python or sys.executable), str(BOOTSTRAP)]
        self._process: subprocess.Popen[bytes] | _Fork
        if forked := self._forked(command[0]):
            self._line, self._process, self.facts = forked
            return
        ours, theirs = socket.socketpair()
        self._line = Connection(ours)
        self._process = self._started([*command, str(theirs.fileno()), str(folder), *preload], theirs)
        self.facts = self._ready(command[0])

    def _forked(self, python: str) -> tuple[Connection, _Fork, Mapping[str, Any]] | None:
        """A fork of the process that has torch already, where somebody keeps one (`WARM`) that suits; else None."""
        if not (socket_file := os.environ.get(WARM)):
            return None
        request = {
            "python": python,
            "environment": self._environment(),
            "cwd": os.getcwd(),  # noqa: PTH109 - goes into a message
            "folder": str(self.folder),
            "output": str(self._output),
            "preload": self._preload,
        }
        line = socket.socket(socket.AF_UNIX)
        with contextlib.suppress(OSError, EOFError):
            line.connect(socket_file)
            line.sendall(json.dumps(request).encode() + b"\n")
            connection = Connection(line)
            if facts := connection.read(_START_SECONDS):
                return connection, _Fork(facts["pid"]), facts
        line.close()
        return None

    def _started(self, command: list[str], theirs: socket.socket) -> subprocess.Popen[bytes]:
        environment = self._environment()
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

    def _environment(self) -> dict[str, str]:
        # What inductor keeps goes away with the run, but for the compiled headers, or stays where somebody wants it.
        usual = {"TORCHINDUCTOR_CACHE_DIR": str(self.folder / "inductor"), "OMP_NUM_THREADS": "1"}
        return {**usual, "CUDA_VISIBLE_DEVICES": "", **os.environ, VARIABLE: self._seed}

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

    def target_process(
        self, name: str, edited: Mapping[str, str] | None = None, waits: str | None = None
    ) -> TargetProcess:
        """A fresh fork, its folder below the run's; or the process in which a script's run left the target, which
        `waits` in that folder.

        `edited`: path -> source that this process sees in place of the file's.
        """
        if waits is not None and waits in self._waiting:
            return self._waiting.pop(waits)
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
            self._waiting[message["folder"]] = process
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
