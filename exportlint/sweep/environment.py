"""What the interpreter of the trials has: versions of packages, and names of models. Asked in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.sweep.probe import ANSWER, HOME, ZOOS

if TYPE_CHECKING:
    from collections.abc import Mapping

_PROBE = Path(__file__).with_name("probe.py")
_HOME = Path(__file__).parents[2]
_SECONDS = 300.0  # a library of hundreds of models is imported, maybe from a cold disk


@dataclass(frozen=True, slots=True)
class Environment:
    """An interpreter. `models`: library -> name of a model -> its family; `wrong`: library -> why it has none."""

    packages: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    wrong: Mapping[str, str] = field(default_factory=dict)


def environment(python: Path | None, zoos: Mapping[str, str]) -> Environment:
    """Ask an interpreter (None: this one) for its packages, and the zoos (library -> module) for their models.

    Raises UserError where it gives no answer.
    """
    with tempfile.TemporaryDirectory(prefix="exportlint-") as folder:
        answer = Path(folder, "answer")
        request = json.dumps({HOME: str(_HOME), ZOOS: dict(zoos), ANSWER: str(answer)})
        command = [str(python or sys.executable), str(_PROBE), request]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except OSError as error:
            raise UserError(f"--python: {command[0]} does not run: {error.strerror}") from error
        except subprocess.TimeoutExpired as error:
            names = ", ".join(zoos)
            raise UserError(f"the models of {names} were not named within {_SECONDS:g} seconds") from error
        if not answer.exists():
            last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
            raise UserError(f"{command[0]} could not say what is installed: {last[0]}")
        return Environment(**json.loads(answer.read_text("utf-8")))
