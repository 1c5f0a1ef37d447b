"""Run an artefact in a process that has nothing but its runtime, which is imported while the program is compiled."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.leaf_files import read_leaves, write_leaves
from exportlint.trial.child.lowering import run_artefact
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import exit_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType


@dataclass(frozen=True)
class Results:
    """What came back.

    calls    for each call that was finished, the leaves of the outputs and the inputs as the call left them
    step     load or run, where something failed
    raised   what was raised there
    ended    how the process ended, where it did not answer
    """

    calls: list[tuple[list[Any], list[Any]]] = field(default_factory=list)
    step: str = ""
    raised: Observation | None = None
    ended: str = ""

    @property
    def ok(self) -> bool:
        return self.raised is None and not self.ended


class FreshProcess:
    """A process of its own for one artefact; leaving it ends it."""

    def __init__(self, lowering: str, settings: Mapping[str, Any], folder: Path) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="fresh-", dir=folder))
        command = [sys.executable, str(run_artefact.__file__), lowering, json.dumps(settings)]
        self._output = (self._folder / "output").open("wb")
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=self._output,
            cwd=self._folder,
            env=_environment(),
        )

    def __enter__(self) -> FreshProcess:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        self._output.close()

    def run(self, artefact: Path, facts: Mapping[str, Any], calls: Sequence[Sequence[Any]]) -> Results:
        """Load the artefact and call it with the leaves of each call, in this order, in one process."""
        files = [self._folder / f"call-{number}" for number in range(len(calls))]
        for file, leaves in zip(files, calls, strict=True):
            write_leaves(file, leaves)
        names = list(map(str, files))
        request = {"artefact": str(artefact), "facts": facts, "calls": names, "answer": str(self._folder)}
        with contextlib.suppress(BrokenPipeError):  # it has ended already, which its exit code says
            self._process.communicate(json.dumps(request).encode() + b"\n")
        return self._results(self._process.wait())

    def _results(self, code: int) -> Results:
        answer = self._folder / "answer.json"
        if not answer.exists():
            done = sorted(self._folder.glob("inputs-*"))
            step = "run" if done else "load or run"
            return Results(step=step, ended=exit_in_words(code))
        said = json.loads(answer.read_text("utf-8"))
        numbers = range(said["calls"])
        calls = [tuple(read_leaves(self._folder / f"{what}-{n}") for what in ("outputs", "inputs")) for n in numbers]
        raised = Observation.from_dict(said["raised"]) if "raised" in said else None
        return Results(calls, said["step"] if raised else "", raised)  # type: ignore[arg-type]

    @property
    def printed(self) -> str:
        """The last words of the process; a runtime in C++ says there why it gives up."""
        return (self._folder / "output").read_text("utf-8", "replace")[-4000:]


def _environment() -> dict[str, str]:
    """Without what makes a target's tracing or hashing special."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONHASHSEED", "TORCH_LOGS")}
