"""Run an artefact in a process that has nothing but its runtime, which is imported while the program is compiled."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.leaf_files import read_leaves, write_leaves
from exportlint.trial.child.lowering.running import run_artefact
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import exit_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType


@dataclass(frozen=True)
class ArtefactAnswer:
    """What came back.

    calls      for each call that was finished, the leaves of the outputs and the inputs as the call left them
    step       import, load or run, where something failed
    raised     what was raised there
    ended      how the process ended, where it did not answer
    timed_out  it was ended, since it took too long
    printed    the last words of the process; a runtime in C++ says there why it gives up
    """

    calls: list[tuple[list[Any], list[Any]]] = field(default_factory=list)
    step: str = ""
    raised: Observation | None = None
    ended: str = ""
    timed_out: bool = False
    printed: str = ""

    @property
    def ok(self) -> bool:
        return self.raised is None and not self.ended


DONE = "done"
_MOST_PRINTED = 8000


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

    def run(
        self, artefact: Path, facts: Mapping[str, Any], calls: Sequence[Sequence[Any]], seconds: float = 120.0
    ) -> ArtefactAnswer:
        """Load the artefact and call it with the leaves of each call, in this order, in one process."""
        files = [self._folder / f"call-{number}" for number in range(len(calls))]
        for file, leaves in zip(files, calls, strict=True):
            write_leaves(file, leaves)
        names = list(map(str, files))
        request = {"artefact": str(artefact), "facts": facts, "calls": names, "answer": str(self._folder)}
        try:
            self._process.communicate(json.dumps(request).encode() + b"\n", timeout=seconds)
        except BrokenPipeError:  # it has ended already, which its exit code says
            pass
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            return self._results(f"no answer within {seconds:g} s", timed_out=True)
        return self._results(exit_in_words(self._process.wait()), timed_out=False)

    def _results(self, ended: str, *, timed_out: bool) -> ArtefactAnswer:
        answer = self._folder / "answer.json"
        said: dict[str, Any] = {"step": "import", "calls": 0}
        if answer.exists():
            said = json.loads(answer.read_text("utf-8"))
        numbers = range(said["calls"])
        calls = [tuple(read_leaves(self._folder / f"{what}-{n}") for what in ("outputs", "inputs")) for n in numbers]
        raised = Observation.from_dict(said["raised"]) if "raised" in said else None
        if raised or said["step"] == DONE:
            return ArtefactAnswer(calls, said["step"] if raised else "", raised, printed=self._printed)  # type: ignore[arg-type]
        return ArtefactAnswer(calls, said["step"], None, ended, timed_out, self._printed)  # type: ignore[arg-type]

    @property
    def _printed(self) -> str:
        return (self._folder / "output").read_text("utf-8", "replace")[-_MOST_PRINTED:]


def _environment() -> dict[str, str]:
    """Without what makes a target's tracing or hashing special; it runs in a folder of its own, so paths are whole."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONHASHSEED", "TORCH_LOGS")}
    if folders := kept.get("PYTHONPATH"):
        kept["PYTHONPATH"] = os.pathsep.join(str(Path(folder).absolute()) for folder in folders.split(os.pathsep))
    return kept
