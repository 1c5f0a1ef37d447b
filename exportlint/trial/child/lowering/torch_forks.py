"""Processes for artefacts whose runtime is torch: forks of one that has torch, and was never anything else.

It is a fork of the server, made when torch was imported and before anything of exporting was; it runs nothing, so that
no thread exists in it. Each artefact gets a fork of it, and a second one that waits for the first: only a parent learns
how a process ended.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import sys
import tempfile
from functools import partial
from typing import NoReturn

from exportlint.trial.child.lowering import run_artefact
from exportlint.trial.child.server.process_control import (
    die_with_parent,
    exit_code_of,
    leave,
    leave_after,
    leave_group,
    process_id,
    reap,
)

# Far from the numbers that a target closes when it closes "everything".
_LINE_FD = 690

_line: socket.socket | None = None


def start_torch_forks(server_line: socket.socket) -> None:
    """In the server: fork the process that the artefacts' processes are forks of."""
    ours, theirs = socket.socketpair()
    server = process_id()
    if os.fork() == 0:
        ours.close()
        server_line.close()
        leave_after(partial(serve_torch_forks, theirs, server))
    theirs.close()
    with ours:
        use_torch_forks(ours)


def use_torch_forks(line: socket.socket) -> None:
    """Ask at this line from now on, in this process and its forks; whoever gave it may close it."""
    global _line  # noqa: PLW0603 - one for a process and all its forks
    _line = socket.socket(fileno=fcntl.fcntl(line, fcntl.F_DUPFD_CLOEXEC, _LINE_FD))


def ask_for_fork(request: int, output: int, answers: int) -> bool:
    """Three file descriptors: what to do, as two lines; where to print; a line for the process's number, then for its
    exit code. False where no such process can be had: not in a trial, or the target closed what it did not open."""
    if _line is None:
        return False
    try:
        socket.send_fds(_line, [b"."], [request, output, answers])
    except OSError:
        return False
    return True


def serve_torch_forks(line: socket.socket, server: int) -> None:
    """What that process does, until the server, its parent, is gone."""
    die_with_parent(server)
    while True:
        asked, fds, _, _ = socket.recv_fds(line, 1, 3)
        if not asked:
            return
        own_id = process_id()
        if os.fork() == 0:
            line.close()
            leave_after(partial(_wait_for_artefact, own_id, *fds))
        for fd in fds:
            os.close(fd)
        reap()


def _wait_for_artefact(parent: int, request: int, output: int, answers: int) -> NoReturn:
    leave_group(parent)
    line, own_id = socket.socket(fileno=answers), process_id()
    pid = os.fork()
    if pid == 0:
        line.close()
        leave_group(own_id)
        leave_after(partial(_run_artefact, request, output))
    line.sendall(pid.to_bytes(4, "little", signed=True))
    line.sendall(exit_code_of(pid, line).to_bytes(4, "little", signed=True))
    leave(0)


def number_of(line: socket.socket, seconds: float | None) -> int | None:
    """The next number of those that such a process is told by; None where nobody is there to tell it. Raises
    TimeoutError where none comes in time."""
    line.settimeout(seconds)
    told = line.recv(4)
    return int.from_bytes(told, "little", signed=True) if told else None


def _run_artefact(request: int, output: int) -> None:
    for ours, usual in ((request, 0), (output, 1), (output, 2)):
        os.dup2(ours, usual)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    head = json.loads(sys.stdin.readline())
    os.chdir(head["folder"])
    os.environ.clear()
    os.environ.update(head["environment"])
    tempfile.tempdir = None
    run_artefact.main(head["lowering"], json.dumps(head["settings"]))
