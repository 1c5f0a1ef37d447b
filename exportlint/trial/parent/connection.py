"""Exchange messages with the processes of a trial, with a time limit; keep what came before a process ended."""

from __future__ import annotations

import json
import select
import socket
import time
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import GONE, exit_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping


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
