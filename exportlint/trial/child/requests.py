"""Do what the parent asks of a process of the trial: import a target, run a stage, run a script."""

from __future__ import annotations

import fcntl
import importlib
import json
import os
import socket
import sys
import tempfile
import time
import traceback
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.capture import run_script
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading.edited_files import lay_edited_files
from exportlint.trial.child.loading.from_target import load
from exportlint.trial.child.server.fork_server import run_target, serve_stages
from exportlint.trial.child.server.process_control import (
    dump_stack_on_signal,
    exit_if_forked_copy,
    remember_process_id,
)
from exportlint.trial.child.torch_private.dynamo import leave_guards_untimed
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.outcomes import CRASHED, REFUSED
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.stages import COST
from exportlint.trial.protocol.target import Target, TargetError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.protocol.observation import Observation


# Far from the numbers that a target closes when it closes "everything".
_ANSWER_FD = 700


class Requests:
    """Everything that the parent can ask for; see `exportlint.trial.child.server.fork_server.Work`."""

    def load_target(self, request: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        """Import the target; what its code raises is an answer."""
        target = Target.from_dict(request["target"])
        _lay_edited_files(request)
        sys.path[:0] = [folder for folder in request["path"] if folder not in sys.path]
        try:
            return load(target), {"loaded": True}
        except TargetError as exc:
            return None, {"error": str(exc), "observation": of_exception(exc).to_dict()}
        except BaseException as exc:  # noqa: BLE001 - a target's import may end in sys.exit()
            seen = of_exception(exc)
            text = f"target {target.name}: importing it raised {type(exc).__name__}: {short(str(exc))}"
            return None, {"error": text, "observation": seen.to_dict()}

    def run_forked(self, request: Mapping[str, Any], loaded: Any, exported: Any, fds: list[int]) -> None:
        """Run a script, or a stage. `fds`: the line for answers, and of a held stage the line to those that follow."""
        if "script" in request:
            _lay_edited_files(request)
            dump_stack_on_signal(Path(request["folder"]) / "output")
            run_script(request, socket.socket(fileno=fds[0]), partial(run_target, self))
            return
        safe, *following = map(_safe, fds)
        exported = _answered(request, loaded, exported, safe)
        if following and exported is not None:
            os.close(safe)
            serve_stages(self, socket.socket(fileno=following[0]), loaded, exported)


def _lay_edited_files(request: Mapping[str, Any]) -> None:
    if request.get("edited"):
        lay_edited_files(Path(request["edited"]))


def _answered(request: Mapping[str, Any], loaded: Any, exported: Any, line: int) -> Any:
    """Run the stage, send its observations and its answer, and give what it exported."""
    remember_process_id()
    folder = Path(request["folder"])
    dump_stack_on_signal(folder / "output")
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # it may have been asked for, and kept, while the server loaded torch

    def send(message: Mapping[str, Any]) -> None:
        exit_if_forked_copy()
        _write(line, json.dumps(message, default=str).encode() + b"\n")

    def emit(seen: Observation) -> None:
        send({"observation": seen.to_dict()})

    stage = StageRequest(request["stage"], loaded, folder, emit, send, request.get("options", {}), exported)
    began = time.monotonic()
    answer = _run(request["module"], stage)
    seconds = time.monotonic() - began
    send({"status": answer.status, "detail": answer.detail, "data": dict(answer.data), "seconds": seconds})
    return answer.exported


def _run(module: str, stage: StageRequest) -> StageAnswer:
    if stage.stage != COST.name:  # which says how long compiling takes
        leave_guards_untimed()
    try:
        with stage.gradient_mode:
            answer: StageAnswer = importlib.import_module(f"exportlint.trial.child.stages.{module}").run(stage)
    except BaseException as exc:  # noqa: BLE001 - whatever a stage did not expect is still only a status
        stage.emit(of_exception(exc, where=traceback.format_exc()[-3000:]))
        return StageAnswer(REFUSED if isinstance(exc, TargetError) else CRASHED, short(f"{type(exc).__name__}: {exc}"))
    return answer


def _safe(fd: int) -> int:
    safe = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ANSWER_FD)
    os.close(fd)
    return safe


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
