"""The processes a trial runs in: a server that has torch, a fork of it for each target, a fork of that for each stage.

A stage that is held keeps its process, and what it made (an exported program), when it has answered: the stages that go
on from there are forks of it. Server and target processes only fork and wait; the one thing a target process runs is
the import of the target. The server runs no operator on more than a number, so that no thread pool exists before a
fork. Talk is JSON lines over a socket; a file descriptor travels with a request where the fork needs a line of its own
to the parent.
"""

from __future__ import annotations

import contextlib
import fcntl
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from exportlint.trial.isolate import (
    adopt_orphans,
    die_with_parent,
    ending,
    leave,
    leave_if_stray,
    settle,
    tell_stack_on_signal,
)
from exportlint.trial.observation import Observation, of_exception
from exportlint.trial.stage import CRASHED, REFUSED, Answer, Request, short
from exportlint.trial.target import Target, TargetError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Modules that every stage needs and that take long to load; the last ones are absent in some versions.
_PRELOAD = (
    "torch.export",
    "torch._dynamo",
    "torch.export._trace",
    "torch.fx.experimental.symbolic_shapes",
    "torch._decomp.decompositions",
    "torch._export.serde.serialize",
    "torch._dynamo.functional_export",
    "torch.export._draft_export",
)


def serve(fd: int) -> None:
    """The server: load torch, then fork a process for every target the parent names. Ends when the parent hangs up."""
    die_with_parent()
    # The terminal's Ctrl-C is the parent's to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = socket.socket(fileno=fd)
    parent.sendall(json.dumps(_load_torch()).encode() + b"\n")
    while True:
        message, fds, _, _ = socket.recv_fds(parent, 65536, 1)
        if not message:
            return
        pid = os.fork()
        if pid == 0:
            parent.close()
            _leave_group()
            _run_target(socket.socket(fileno=fds[0]), Path(json.loads(message)["output"]))
        for line in fds:
            os.close(line)
        parent.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        _reap()


def _load_torch() -> Mapping[str, Any]:
    sys.dont_write_bytecode = True  # a trial leaves no __pycache__ beside the target
    try:
        import torch  # noqa: PLC0415 - the server says so where it is missing
    except ImportError as exc:
        return {"missing": str(exc), "python": sys.executable}
    torch.set_num_threads(1)
    # All of our own code too: a run that lasts an hour must not take up what is edited meanwhile.
    stages = Path(__file__).with_name("stages").glob("[a-z]*.py")
    for name in (*_PRELOAD, *(f"exportlint.trial.stages.{path.stem}" for path in stages)):
        with contextlib.suppress(ImportError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            importlib.import_module(name)
    _count_no_devices(torch)
    return {"torch": torch.__version__, "python": ".".join(map(str, sys.version_info[:2])), "platform": _platform()}


def _count_no_devices(torch: Any) -> None:
    """Where no GPU is, exporting lets a CUDA build believe in eight. Its first backward pass after that would start a
    thread for each, and then no fork could differentiate; but devices are counted once, at the first pass of all."""
    if torch.version.cuda and not torch.cuda.device_count():
        torch.ones((), requires_grad=True).backward()


def _platform() -> str:
    return f"{sys.platform}-{os.uname().machine}"


def _reap() -> None:
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _leave_group() -> None:
    os.setsid()
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _run_target(line: socket.socket, output: Path, loaded: Any = None) -> NoReturn:
    """A target's process: the first message names the target, each later one a stage, and brings its answer line.

    Instead of a target it may be a script, whose run leaves processes of this kind with what is `loaded` already.
    """
    settle()
    tell_stack_on_signal(output)
    adopt_orphans()
    _serve_stages(line, loaded)


def _serve_stages(line: socket.socket, loaded: Any, made: Any = None) -> NoReturn:
    while True:
        message, fds, _, _ = socket.recv_fds(line, 1 << 20, 2)
        if not message:
            leave(0)
        request = json.loads(message)
        if "target" in request and loaded is not None:
            _send(line, {"loaded": True})
        elif "target" in request:
            loaded, answer = _load(Target.from_dict(request["target"]), request["path"])
            leave_if_stray()
            _send(line, answer)
        elif "ended" in request:
            _send(line, {"exit": _wait(request["ended"], line)})
        else:
            pid = os.fork()
            if pid == 0:
                line.close()
                _leave_group()
                script = "script" in request
                _leave_after(partial(_run_script if script else _run_stage, request, loaded, made, fds))
            for fd in fds:
                os.close(fd)
            _send(line, {"pid": pid})
            if not _is_held(request):
                _send(line, {"exit": _wait(pid, line)})


def _is_held(request: Mapping[str, Any]) -> bool:
    return bool(request.get("held"))


def _send(line: socket.socket, message: Mapping[str, Any]) -> None:
    line.sendall(json.dumps(message).encode() + b"\n")


def _wait(pid: int, line: socket.socket) -> str:
    """How the stage ended. When the parent is gone, the stage goes too."""
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:  # the target's import has the signal of ended children ignored
            done, status = pid, 0
        if done:
            return ending(os.waitstatus_to_exitcode(status))
        if select.select([line], [], [], 0.02)[0] and not line.recv(1, socket.MSG_PEEK):
            os.killpg(pid, signal.SIGKILL)
            leave(1)


def _load(target: Target, search: list[str]) -> tuple[Any, Mapping[str, Any]]:
    from exportlint.trial.loading import load  # noqa: PLC0415 - needs torch

    sys.path[:0] = [folder for folder in search if folder not in sys.path]
    try:
        return load(target), {"loaded": True}
    except TargetError as exc:
        return None, {"error": str(exc), "observation": of_exception(exc).to_dict()}
    except BaseException as exc:  # noqa: BLE001 - a target's import may end in sys.exit()
        seen = of_exception(exc)
        text = f"target {target.name}: importing it raised {type(exc).__name__}: {short(str(exc))}"
        return None, {"error": text, "observation": seen.to_dict()}


# Far from the numbers that a target closes when it closes "everything".
_ANSWER_FD = 700


def _safe(fd: int) -> int:
    safe = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _ANSWER_FD)
    os.close(fd)
    return safe


def _leave_after(work: Callable[[], None]) -> NoReturn:
    """A stage that closed its own answer line must not come back into the loop of the target's process."""
    try:
        work()
        leave(0)
    finally:
        leave(1)


def _run_script(request: Mapping[str, Any], _loaded: Any, _made: Any, fds: list[int]) -> None:
    from exportlint.trial.scripting import run_script  # noqa: PLC0415 - needs torch

    tell_stack_on_signal(Path(request["folder"]) / "output")
    run_script(request, socket.socket(fileno=fds[0]), _run_target)


def _run_stage(request: Mapping[str, Any], loaded: Any, made: Any, fds: list[int]) -> None:
    """`fds`: the line for answers, and for a stage that is held the line for the stages that follow."""
    settle()
    safe, *following = map(_safe, fds)
    folder = Path(request["folder"])
    tell_stack_on_signal(folder / "output")
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None  # it may have been asked for, and kept, while the server loaded torch

    def tell(message: Mapping[str, Any]) -> None:
        leave_if_stray()
        _write(safe, json.dumps(message, default=str).encode() + b"\n")

    def emit(seen: Observation) -> None:
        tell({"observation": seen.to_dict()})

    began = time.monotonic()
    try:
        module = importlib.import_module(f"exportlint.trial.stages.{request['module']}")
        stage = Request(request["stage"], loaded, folder, emit, tell, request.get("options", {}), made)
        answer = module.run(stage)
    except BaseException as exc:  # noqa: BLE001 - whatever a stage did not expect is still only a status
        emit(of_exception(exc, where=traceback.format_exc()[-3000:]))
        answer = Answer(REFUSED if isinstance(exc, TargetError) else CRASHED, short(f"{type(exc).__name__}: {exc}"))
    tell(
        {
            "status": answer.status,
            "detail": answer.detail,
            "data": dict(answer.data),
            "seconds": time.monotonic() - began,
        }
    )
    if following and answer.made is not None:
        os.close(safe)
        _serve_stages(socket.socket(fileno=following[0]), loaded, answer.made)


def _write(fd: int, data: bytes) -> None:
    while data:
        data = data[os.write(fd, data) :]
