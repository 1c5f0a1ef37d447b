"""Try targets that no configuration names yet, shortly: `exportlint trial --quick`, a process for each."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.trial.protocol.outcomes import PASSED

if TYPE_CHECKING:
    from collections.abc import Mapping

SECONDS = 60
_HOME = Path(__file__).parents[2]
_EXPORT = "export-"


@dataclass(frozen=True, slots=True)
class Tried:
    """`loads`: could the model and its inputs be made, and the model run on them? `text`: what happened."""

    loads: bool
    text: str


def can_try() -> bool:
    """Are torch and what a trial needs installed?"""
    return all(find_spec(name) is not None for name in ("torch", "psutil"))


def try_quickly(parts: Mapping[str, str], root: Path) -> Tried:
    """By the keys of a target's table, whose files are relative to `root`."""
    given = [word for key, value in parts.items() for word in (f"--{key.replace('_', '-')}", value)]
    how = ["--quick", "--timeout", str(SECONDS), "--output-format", "json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(_python_path())}
    command = [sys.executable, "-m", "exportlint", "trial", *given, *how]
    process = subprocess.Popen(
        command, cwd=root, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        out, err = process.communicate()
    except BaseException:
        # It ends its own children when it is told so, and not when it is killed.
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.communicate(timeout=10)
        process.kill()
        raise
    try:
        target = json.loads(out)["targets"][0]
    except (ValueError, LookupError):
        said = err.strip().splitlines() or [f"exit code {process.returncode}"]
        return Tried(False, said[-1].removeprefix("exportlint: "))
    stages = {stage["name"]: stage for stage in target["stages"]}
    for name in ("load", "eager"):
        if stages.get(name, {}).get("status") != PASSED:
            stage = stages.get(name, {"status": "not run", "detail": ""})
            return Tried(False, f"{name} {stage['status']}: {stage['detail']}".removesuffix(": "))
    exports = {name.removeprefix(_EXPORT): one for name, one in stages.items() if name.startswith(_EXPORT)}
    told = ", ".join(f"{mode} {one['status']}" for mode, one in exports.items())
    return Tried(True, f"export: {told}")


def _python_path() -> list[str]:
    """As it is, its folders by their whole names, and where this exportlint is, which need not be installed."""
    named = [str(Path(path).absolute()) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return [*named, str(_HOME)]
