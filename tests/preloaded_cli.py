"""exportlint's command line, each call in a fork of one process that has imported it. Without torch, as the command.

Run as a program by `processes`: a call is a line of JSON on stdin, its exit code a line on stdout.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import signal
import sys
from typing import Any

import exportlint_rules

import exportlint.commands
import exportlint.workflow
from exportlint.cli import main

# What commands import where they need it.
LOADED_LATE = (
    "exportlint.output.agent",
    "exportlint.output.full",
    "exportlint.trial.parent.server",
    "libcst.matchers",
    "libcst.metadata",
    "rich.console",
    "rich.table",
)


def serve() -> None:
    for package in (exportlint.commands, exportlint.workflow, exportlint_rules):
        for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            if not module.ispkg:
                importlib.import_module(module.name)
    for name in LOADED_LATE:
        importlib.import_module(name)
    assert "torch" not in sys.modules, "the command itself is tested without it"
    for line in sys.stdin.buffer.raw:  # type: ignore[attr-defined] # unbuffered: a fork must not find a later call in it
        call = json.loads(line)
        pid = os.fork()
        if pid == 0:
            become(call)
            main()  # which leaves with the command's exit code
        sys.stdout.write(f"{os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}\n")
        sys.stdout.flush()


def become(call: dict[str, Any]) -> None:
    """The process that a shell would have started."""
    os.chdir(call["folder"])
    os.environ.clear()
    os.environ.update(call["environment"])
    sys.argv = ["exportlint", *call["arguments"]]
    sys.path[0] = ""  # `python -m` looks in the working directory
    for fd, (path, flags) in enumerate(zip(call["streams"], (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        opened = os.open(path, flags)
        os.dup2(opened, fd)
        os.close(opened)
    sys.stdin = open(0, closefd=False)  # noqa: SIM115 - what this process reads until it ends
    signal.signal(signal.SIGINT, signal.default_int_handler)


if __name__ == "__main__":
    serve()
