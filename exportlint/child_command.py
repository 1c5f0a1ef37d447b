"""Run exportlint's command line in a process of its own: its report out, its progress line by line, nothing left.

A tool of a server may run for minutes and be cancelled at any moment, and what it runs may crash: neither may reach the
server, which goes on with the next call.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

import anyio

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from anyio.abc import ByteReceiveStream, Process

_SECONDS_TO_END = 5.0  # after SIGTERM; the processes of a trial end with the one that started them


class FailedError(Exception):
    """The command could not do its job; the message is the sentence that it said."""


@dataclass(frozen=True, slots=True)
class Ended:
    """`code`: 0 clean, 1 findings."""

    code: int
    out: str


async def run_command(
    arguments: Sequence[str], folder: str, tell: Callable[[str], Awaitable[None]], given: str = ""
) -> Ended:
    """Run `exportlint ARGUMENTS` in a folder. `tell` gets each line of its progress; `given` is its standard input.

    Raises FailedError where it ends with another code than 0 or 1, or cannot be started in that folder.
    """
    try:
        process = await anyio.open_process(
            [sys.executable, "-m", "exportlint", *arguments],
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        raise FailedError(f"{folder} is no folder to run in: {error.strerror}") from error
    out, said = list[bytes](), list[str]()
    try:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_collect, process.stdout, out)
            tasks.start_soon(_lines, process.stderr, said, tell)
            if process.stdin is not None:
                with contextlib.suppress(anyio.BrokenResourceError):
                    await process.stdin.send(given.encode())
                await process.stdin.aclose()
            await process.wait()
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process)
    if process.returncode not in (0, 1):
        last = [line for line in said if "error: " in line][-1:] or said[-1:] or ["it ended without a word"]
        raise FailedError(last[0].removeprefix("exportlint: error: "))
    return Ended(process.returncode, b"".join(out).decode())


async def _collect(stream: ByteReceiveStream | None, into: list[bytes]) -> None:
    into.extend([part async for part in stream or ()])  # type: ignore[union-attr]  # a pipe was asked for


async def _lines(stream: ByteReceiveStream | None, into: list[str], tell: Callable[[str], Awaitable[None]]) -> None:
    rest = ""
    async for part in stream or ():  # type: ignore[union-attr]  # as above
        *lines, rest = (rest + part.decode("utf-8", "replace")).split("\n")
        for line in filter(None, lines):
            into.append(line)
            await tell(line.removeprefix("exportlint: "))
    into.extend(filter(None, [rest]))


async def _end(process: Process) -> None:
    """End it, with all that it started: at once by itself, or by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.returncode is not None:
            break
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with anyio.move_on_after(_SECONDS_TO_END):
            await process.wait()
    await process.aclose()
