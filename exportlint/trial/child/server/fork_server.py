"""Serve the processes of a trial: one that has torch, a fork of it for each target, a fork of that for each stage.

A stage that is held keeps its process, and the program that it exported, when it has answered: the stages that go
on from there are forks of it. Server and target processes only fork and wait; the one thing a target process runs is
the import of the target. The server runs no operator on more than a number, so that no thread pool exists before a
fork. Talk is JSON lines over a socket; a file descriptor travels with a request where the fork needs a line of its own
to the parent.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
import warnings
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

from exportlint.trial.child.server.process_control import (
    adopt_orphans,
    die_with_parent,
    dump_stack_on_signal,
    exit_code_of,
    exit_if_forked_copy,
    leave,
    leave_after,
    leave_group,
    process_id,
    reap,
    remember_process_id,
    use_large_pages,
)
from exportlint.trial.child.torch_private.module_names import PRELOADED, READER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence


class Work(Protocol):
    """What the processes do for the parent. `exportlint.trial.child.requests` implements it."""

    def load_target(self, request: Mapping[str, Any]) -> tuple[Any, Mapping[str, Any]]:
        """Import a target: what was loaded (None where that failed), and the answer to the parent."""

    def run_forked(self, request: Mapping[str, Any], loaded: Any, exported: Any, fds: list[int]) -> None:
        """Run a stage or a script, in a process of its own. `exported`: the program that this stage works on."""


def serve(
    fd: int,
    folder: Path,
    work: Callable[[], Work],
    with_torch_alone: Callable[[socket.socket], None],
    preload: Sequence[str],
) -> None:
    """The server: load torch, then fork a process for every target the parent names. Ends when the parent hangs up.

    `folder`: of the run, where temporary files go. `work` is asked for once torch is loaded, which it may import.
    `with_torch_alone` is called, with the line to the parent, while this process has what a reader of a saved program
    imports, and nothing else. `preload`: modules to import besides.
    """
    die_with_parent()
    # The terminal's Ctrl-C is the parent's to answer.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = socket.socket(fileno=fd)
    facts = _load_torch(partial(with_torch_alone, parent), preload)
    _serve_targets(parent, facts, folder, work)


def serve_many(fd: int, work: Callable[[], Work], with_torch_alone: Callable[[socket.socket], None]) -> None:
    """Load torch once, for many commands after one another: a server for each parent that asks at the listening socket
    `fd`, as a fork that has the parent's environment and folder. Nothing is loaded before somebody asks. Ends with the
    process that started it.

    What torch and Python read of the environment while they are loaded cannot be changed later, so a parent in which
    that is another is told no, and starts a server of its own.
    """
    die_with_parent()
    listening = socket.socket(fileno=fd)
    started_with = _read_at_start(os.environ)
    select.select([listening], [], [])
    facts = _load_torch(partial(with_torch_alone, listening), ())
    preloaded: dict[tuple[str, ...], socket.socket] = {}
    while "torch" in facts:
        parent, _ = listening.accept()
        with parent:
            with parent.makefile("rb") as lines:
                request = json.loads(lines.readline() or "null")
            if not request or request["python"] != sys.executable:
                continue
            if _read_at_start(request["environment"]) != started_with:
                continue
            if modules := tuple(request["preload"]):
                if modules not in preloaded:
                    preloaded[modules] = _with_modules(listening, modules, facts, work)
                socket.send_fds(preloaded[modules], [json.dumps(request).encode()], [parent.fileno()])
            else:
                _fork_server(listening, parent, request, facts, work)
        reap()


def _with_modules(
    listening: socket.socket, modules: Sequence[str], facts: Mapping[str, Any], work: Callable[[], Work]
) -> socket.socket:
    """A fork of this process that has imported these, too; its servers are asked for over the line."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    own_id = process_id()
    if os.fork() == 0:
        listening.close()
        ours.close()
        leave_group(own_id)
        leave_after(partial(_serve_with_modules, theirs, modules, facts, work))
    theirs.close()
    return ours


def _serve_with_modules(
    line: socket.socket, modules: Sequence[str], facts: Mapping[str, Any], work: Callable[[], Work]
) -> None:
    remember_process_id()
    with _kept_for_forks():
        _import_asked_for(modules)
    while True:
        message, fds, _, _ = socket.recv_fds(line, 1 << 20, 1)
        if not message:
            return
        with socket.socket(fileno=fds[0]) as parent:
            _fork_server(line, parent, json.loads(message), facts, work)
        reap()


def _fork_server(
    asked_at: socket.socket,
    parent: socket.socket,
    request: Mapping[str, Any],
    facts: Mapping[str, Any],
    work: Callable[[], Work],
) -> None:
    own_id = process_id()
    if os.fork() == 0:
        asked_at.close()
        leave_group(own_id)
        leave_after(partial(_serve_as_asked, parent, request, facts, work))


# Names of variables that Python, torch or a library below it reads while it is loaded.
# Inductor asks for its folder later.
_READ_AT_START = ("PYTHON", "LD_", "TORCH", "PYTORCH", "ATEN", "CUDA", "OMP_", "GOMP", "KMP", "MKL", "OPENBLAS")
_READ_LATER = frozenset({"TORCHINDUCTOR_CACHE_DIR"})


def _read_at_start(environment: Mapping[str, str]) -> Mapping[str, str]:
    return {
        name: value
        for name, value in environment.items()
        if name.startswith(_READ_AT_START) and name not in _READ_LATER
    }


def _serve_as_asked(
    parent: socket.socket, request: Mapping[str, Any], facts: Mapping[str, Any], work: Callable[[], Work]
) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    output = os.open(request["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    for usual in (1, 2):
        os.dup2(output, usual)
    os.chdir(request["cwd"])
    os.environ.clear()
    os.environ.update(request["environment"])
    _serve_targets(parent, {**facts, "pid": process_id()}, Path(request["folder"]), work)


def _serve_targets(parent: socket.socket, facts: Mapping[str, Any], folder: Path, work: Callable[[], Work]) -> None:
    _keep_temporary_files_in(folder)
    parent.sendall(json.dumps(facts).encode() + b"\n")
    while True:
        message, fds, _, _ = socket.recv_fds(parent, 65536, 1)
        if not message:
            return
        own_id = process_id()
        pid = os.fork()
        if pid == 0:
            parent.close()
            leave_group(own_id)
            run_target(work(), socket.socket(fileno=fds[0]), Path(json.loads(message)["output"]))
        for line in fds:
            os.close(line)
        parent.sendall(json.dumps({"pid": pid}).encode() + b"\n")
        reap()


def _load_torch(with_torch_alone: Callable[[], None], preload: Sequence[str]) -> Mapping[str, Any]:
    sys.dont_write_bytecode = True  # a trial leaves no __pycache__ beside the target
    try:
        with _kept_for_forks():
            import torch  # noqa: PLC0415 - the server answers where it is missing

            _import(READER)
    except ImportError as exc:
        return {"missing": str(exc), "python": sys.executable}
    with_torch_alone()
    torch.set_num_threads(1)
    _count_no_devices(torch)
    with _kept_for_forks():
        for name in (*PRELOADED, *_own_modules()):
            _import(name)
        _import_asked_for(preload)
    return {"torch": torch.__version__, "python": ".".join(map(str, sys.version_info[:2])), "platform": _platform()}


@contextlib.contextmanager
def _kept_for_forks() -> Iterator[None]:
    """What is loaded here stays, and no collection looks at it: each fork would copy all the memory that it lies in."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
    use_large_pages()


def _import_asked_for(names: Sequence[str]) -> None:
    """Of others: what one of them raises, the stage that needs it says."""
    for name in names:
        with contextlib.suppress(Exception):
            _import(name)


def _import(name: str) -> None:
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        importlib.import_module(name)


def _keep_temporary_files_in(folder: Path) -> None:
    """Not before torch is loaded: inductor has found the folder of its compiled headers by then. They take long, depend
    on torch, the compiler and its options alone, and are the same for everybody on this machine."""
    os.environ["TMPDIR"] = str(folder)
    tempfile.tempdir = None


def _own_modules() -> list[str]:
    """All code of this process: a run that lasts an hour must not take up what is edited meanwhile."""
    child = Path(__file__).parents[1]
    package = __name__.removesuffix(".server.fork_server")
    files = (path.relative_to(child).with_suffix("") for path in sorted(child.rglob("*.py")))
    return [".".join((package, *path.parts)) for path in files if path.name not in ("__init__", "bootstrap")]


def _count_no_devices(torch: Any) -> None:
    """Where no GPU is, exporting lets a CUDA build believe in eight. Its first backward pass after that would start a
    thread for each, and then no fork could differentiate; but devices are counted once, at the first pass of all."""
    if torch.version.cuda and not torch.cuda.device_count():
        torch.ones((), requires_grad=True).backward()


def _platform() -> str:
    return f"{sys.platform}-{os.uname().machine}"


def run_target(work: Work, line: socket.socket, output: Path, loaded: Any = None) -> NoReturn:
    """A target's process: the first message names the target, each later one a stage, and brings its answer line.

    Instead of a target it may be a script, whose run leaves processes of this kind with what is `loaded` already.
    """
    remember_process_id()
    dump_stack_on_signal(output)
    adopt_orphans()
    serve_stages(work, line, loaded)


def serve_stages(work: Work, line: socket.socket, loaded: Any, exported: Any = None) -> NoReturn:
    """Run a stage in a fork for every message; `exported` is what a held stage exported, for those that follow."""
    while True:
        message, fds, _, _ = socket.recv_fds(line, 1 << 20, 2)
        if not message:
            leave(0)
        request = json.loads(message)
        if "target" in request and loaded is not None:
            _send(line, {"loaded": True})
        elif "target" in request:
            loaded, answer = work.load_target(request)
            exit_if_forked_copy()
            _send(line, answer)
        elif "ended" in request:
            _send(line, {"exit": exit_code_of(request["ended"], line)})
        else:
            own_id = process_id()
            pid = os.fork()
            if pid == 0:
                line.close()
                leave_group(own_id)
                leave_after(partial(work.run_forked, request, loaded, exported, fds))
            for fd in fds:
                os.close(fd)
            _send(line, {"pid": pid})
            if not _is_held(request):
                _send(line, {"exit": exit_code_of(pid, line)})


def _is_held(request: Mapping[str, Any]) -> bool:
    return bool(request.get("held"))


def _send(line: socket.socket, message: Mapping[str, Any]) -> None:
    line.sendall(json.dumps(message).encode() + b"\n")
