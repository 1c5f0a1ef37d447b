"""Ask a package how it is, in a child process with a time limit: whatever it does there hurts nobody."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.doctor.probe import ANSWER, HOME, MODULES, POINT, SECONDS, TORCH

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PROBE = Path(__file__).with_name("probe.py")
HOMES = Path(__file__).parents[2]
PATIENCE = 90.0  # seconds; torch from a cold disk takes 20


@dataclass(frozen=True, slots=True)
class Asked:
    """What came of it. `wrong`: what went wrong, in words, or nothing; `absent`: the module that is not installed."""

    found: Mapping[str, Any] = field(default_factory=dict)
    wrong: str = ""
    absent: str | None = None


def ask(
    *, point: str | None = None, modules: Sequence[str] = (), torch: bool = False, seconds: float = PATIENCE
) -> Asked:
    """Load an entry point and what it says that it needs, then import the modules; `torch`: also look into torch."""
    with tempfile.TemporaryDirectory(prefix="exportlint-doctor-") as folder:
        answer = Path(folder, "answer")
        how = {ANSWER: str(answer), SECONDS: seconds, HOME: str(HOMES)}
        request = json.dumps({**how, POINT: point, MODULES: list(modules), TORCH: torch})
        code = _run([sys.executable, str(PROBE), request], folder, seconds)
        lines = answer.read_text("utf-8").splitlines() if answer.exists() else []
    said: dict[str, Any] = {}
    for line in lines:
        # A process that is ended while it writes leaves half a line.
        with contextlib.suppress(ValueError):
            said |= json.loads(line)
    if "found" in said:
        return Asked(said["found"])
    found, step = said.get("said", {}), said.get("at", "start of the process")
    if "raised" in said:
        text = f": {said['text']}" if said["text"] else ""
        return Asked(found, f"{step} raised {said['raised']}{text}", said["absent"])
    if code is None:
        return Asked(found, f"{step} did not end in {seconds:g} seconds")
    return Asked(found, f"{step} {_ended(code)}")


def _run(command: list[str], folder: str, seconds: float) -> int | None:
    """The exit code; None when the time was over. What it prints is for nobody."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    # A core file of a package that crashes would stay in the user's folder.
    process = subprocess.Popen(command, cwd=folder, env=_environment(), start_new_session=True, **quiet)  # type: ignore[call-overload]
    try:
        return int(process.wait(seconds))
    except subprocess.TimeoutExpired:
        return None
    finally:
        # Also what it has started, and also after Ctrl-C.
        _end(process)


def _environment() -> dict[str, str]:
    """The folders that PYTHONPATH names are meant from here, and the child stands elsewhere."""
    environment = dict(os.environ)
    if paths := environment.get("PYTHONPATH"):
        environment["PYTHONPATH"] = os.pathsep.join(str(Path(path).absolute()) for path in paths.split(os.pathsep))
    return environment


def _end(process: subprocess.Popen[bytes]) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    elif process.poll() is None:
        process.kill()
    process.wait()


def _ended(code: int) -> str:
    if code >= 0:
        return f"ended the process with exit code {code}"
    try:
        return f"crashed the process ({signal.Signals(-code).name})"
    except ValueError:
        return f"crashed the process (signal {-code})"
