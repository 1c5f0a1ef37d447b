"""Exchange messages with the processes of a trial, with a time limit; keep what came before a process ended."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from exportlint.trial.protocol.frames import Frame, is_user_path, message_frames
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import GONE, exit_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Overrun:
    """Which limit ended a process, as a status and one line."""

    status: str
    text: str


@dataclass
class Reply:
    """The messages that a process sent, and how it ended.

    messages   in their order
    over       it answered, or is no longer there
    exit_code  None where it did not end, or nobody knows how
    overrun    the limit that ended it
    seconds    how long it took
    stack      what faulthandler left, as text
    output     the end of what it printed
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    over: bool = False
    exit_code: int | None = None
    overrun: Overrun | None = None
    seconds: float = 0.0
    stack: str = ""
    output: str = ""

    def end_in_words(self, who: str = "the process") -> str:
        """Which limit ended it, or how it ended by itself."""
        if self.overrun:
            return self.overrun.text
        return GONE if self.exit_code is None else exit_in_words(self.exit_code, who)

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


class Connection:
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


class Datagrams:
    """The messages of a datagram socket, read as from a pipe; the file descriptors that came with them are in `fds`."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line
        self.fds: list[int] = []

    def fileno(self) -> int:
        return self._line.fileno()

    def read(self, size: int) -> bytes:
        data, fds, _, _ = socket.recv_fds(self._line, size, 1)
        self.fds += fds
        return data + b"\n" if data else b""


def is_final(received: bytearray) -> bool:
    """Has the message with the status come? Before that, nothing is parsed but the last line."""
    return received.endswith(b"\n") and "status" in json.loads(received[received[:-1].rfind(b"\n") + 1 :])


def receive(answers: IO[bytes] | Datagrams | None, received: bytearray) -> None:
    """Everything the pipe holds now. A stage that answers more than the pipe holds waits for the next look."""
    while answers is not None and select.select([answers], [], [], 0)[0]:
        data = answers.read(1 << 16)
        if not data:
            return
        received += data


def whole_messages(received: bytearray) -> list[dict[str, Any]]:
    """Whole lines only: a process that was ended may have left half of one."""
    lines = bytes(received).split(b"\n")[:-1]
    return [json.loads(line) for line in lines]


# Read what a process left in its stage's folder: its last words, and the stacks of faulthandler.


_STACK_BYTES = 20_000
_TAIL_BYTES = 4000


def stack_of(pid: int, output: Path, seconds: float = 3.0) -> str:
    """Ask a group of processes that is about to be ended for its stacks; "" when none answers in time.

    Every process of the group answers, the one that only waits for its fork often first; so the answer is complete
    when it names the model's own code, or when the time is up.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGUSR1)
    until = time.monotonic() + seconds
    text = ""
    while time.monotonic() < until:
        time.sleep(0.05)
        before, text = text, stacks(output)
        # It is written line by line: what no longer grows is whole.
        if text == before and _is_informative(last_stack(text)):
            break
    return text


def stacks(output: Path) -> str:
    """What the processes of a stage left, each in its own file."""
    return "\n".join(tail(path, _STACK_BYTES) for path in sorted(output.parent.glob(f"{output.name}.stack.*")))


def last_stack(text: str) -> tuple[Frame, ...]:
    """faulthandler's dumps, the most recent call first; the one that names the model's own code, outermost first."""
    dumps = [tuple(reversed(message_frames(part))) for part in text.split("most recent call first") if part.strip()]
    informative = [dump for dump in dumps if _is_informative(dump)]
    return (informative or dumps or [()])[-1]


def tail(path: Path, size: int = _TAIL_BYTES) -> str:
    """The end of a text file, "" when there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - size))
            return file.read().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _is_informative(dump: tuple[Frame, ...]) -> bool:
    """Does the dump name the model's own code?"""
    return any(is_user_path(frame.path) for frame in dump)
