"""A user's script, run as it is; every model that it hands to torch becomes a target.

A target is a fork of the script's own process, taken before the call: model, inputs and everything around them are what
the call would have met, whatever the script does to them afterwards.
"""

from __future__ import annotations

import json
import os
import runpy
import socket
import sys
import traceback
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MethodType, TracebackType
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.capture.watched_calls import CallWatcher, calls_watched
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.loading.loaded import Loaded, of_values
from exportlint.trial.child.server.process_control import leave, process_id
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.target import Target, TargetKind

if TYPE_CHECKING:
    from exportlint.trial.child.capture.captured_call import CallSite, CapturedCall


# Each is a process, and a script that exports in a loop would start one for every turn.
MOST = 40

Hold = Callable[[socket.socket, Path, Loaded], Any]


def run_script(request: Mapping[str, Any], line: socket.socket, hold: Hold) -> None:
    """Run it to its end; send each target, with the socket its process listens to, then how the script ended.

    `hold` makes a fork a target's process, and never returns.
    """
    own = Target(request["script"], TargetKind.SEEN, request["script"], arguments=tuple(request["arguments"]))
    finder = _Finder(own, line, Path(request["folder"]), hold)
    path = os.path.abspath(request["script"])  # noqa: PTH100 - as Python names it: no links resolved
    sys.argv = [request["script"], *request["arguments"]]
    sys.path.insert(0, str(Path(path).parent))
    torch.set_num_threads = _one_thread
    watcher = CallWatcher(finder.on_call)
    end: dict[str, Any] = {"code": 0}
    try:
        with calls_watched(watcher):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as exc:
        end["code"] = _exit_code(exc.code)
    except BaseException as exc:  # noqa: BLE001 - the script's own failure is an answer
        traceback.print_exception(type(exc), exc, _from_script(exc.__traceback__, path))
        end |= {"code": 1, "raised": of_exception(exc).to_dict()}
    never = [{"call": prepared.call, "line": prepared.site.line} for prepared in watcher.waiting.values()]
    line.send(json.dumps({"ended": end, "never_called": never[:5], "left_out": finder.left_out}).encode())


def _from_script(stack: TracebackType | None, path: str) -> TracebackType | None:
    """As Python would print it: without what called the script."""
    first = stack
    while first is not None and first.tb_frame.f_code.co_filename != path:
        first = first.tb_next
    return first or stack


def _one_thread(_number: int) -> None:
    """A pool of threads does not survive a fork: operators in the target's process would wait for it for ever."""


def _exit_code(code: object) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=sys.stderr)  # noqa: T201 - what Python itself does with a text
    return 1


class _Finder:
    """What was found so far, and the forks that hold it."""

    def __init__(self, script: Target, line: socket.socket, folder: Path, hold: Hold) -> None:
        self.script, self.line, self.folder, self.hold = script, line, folder, hold
        self.found: list[tuple[str, CapturedCall, Leaves]] = []
        self.left_out = 0
        self.start = Path.cwd()  # a script may go elsewhere

    def on_call(self, seen: CapturedCall) -> None:
        inputs = snapshot((seen.args, dict(seen.kwargs)))
        if known := next((name for name, other, before in self.found if _same(seen, inputs, other, before)), None):
            self._send({"again": known, "call": seen.call})
        elif len(self.found) == MOST:
            self.left_out += 1
        else:
            name = self._name(seen.site)
            self.found.append((name, seen, inputs))
            self._fork(name, seen)

    def _name(self, site: CallSite) -> str:
        place = f"{os.path.relpath(site.path, self.start)}:{site.line}" if site.path else self.script.source
        taken = {name for name, *_ in self.found}
        names = (place, *(f"{place} #{number}" for number in range(2, MOST + 2)))
        return next(name for name in names if name not in taken)

    def _send(self, message: Mapping[str, Any], *fds: int) -> None:
        socket.send_fds(self.line, [json.dumps(message).encode()], list(fds))

    def _fork(self, name: str, seen: CapturedCall) -> None:
        # Twice, so that the target's process is no child of the script's: it outlives it, and counts for itself.
        between = os.fork()
        if between:
            os.waitpid(between, 0)
        elif os.fork():
            os._exit(0)
        else:
            self._become_target(name, seen)

    def _become_target(self, name: str, seen: CapturedCall) -> None:
        """In the fork; never comes back into the script."""
        try:
            folder = self.folder / f"target-{len(self.found)}"
            folder.mkdir()
            os.setsid()
            target = replace(self.script, name=name, path=seen.site.path, line=seen.site.line, given_to=seen.call)
            ours, theirs = socket.socketpair()
            self._send({"target": target.to_dict(), "pid": process_id(), "folder": str(folder)}, theirs.fileno())
            theirs.close()
            self.line.close()
            loaded = of_values(target, seen.model, seen.args, dict(seen.kwargs), seen.dynamic_shapes)
            self.hold(ours, folder / "output", loaded)
        finally:
            leave(1)


def _same(seen: CapturedCall, inputs: Leaves, other: CapturedCall, before: Leaves) -> bool:
    """The same model with the same inputs; a call that asks for no dynamic shapes adds none."""
    model = seen.model is other.model or (isinstance(seen.model, MethodType) and seen.model == other.model)
    shapes = seen.dynamic_shapes is None or repr(seen.dynamic_shapes) == repr(other.dynamic_shapes)
    return model and shapes and (seen.args is other.args or compare(before, inputs, exact=True) is None)
