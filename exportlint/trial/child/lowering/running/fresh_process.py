"""Run an artefact in a process that has nothing but its runtime."""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.leaf_files import read_leaves, write_leaves
from exportlint.trial.child.lowering.running.artefact_processes import ArtefactFork, ArtefactProgram
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import exit_in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from exportlint.lowering.backend import Lowering


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

    def __init__(self, name: str, lowering: Lowering, folder: Path) -> None:
        """`name`: how the process finds the class of the lowering."""
        self._folder = Path(tempfile.mkdtemp(prefix="fresh-", dir=folder))
        kind = ArtefactFork if _needs_torch(lowering) else ArtefactProgram
        self._process = kind(name, lowering.settings, self._folder)

    def __enter__(self) -> FreshProcess:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        self._process.end()

    def run(
        self, artefact: Path, facts: Mapping[str, Any], calls: Sequence[Sequence[Any]], seconds: float = 120.0
    ) -> ArtefactAnswer:
        """Load the artefact and call it with the leaves of each call, in this order, in one process."""
        files = [self._folder / f"call-{number}" for number in range(len(calls))]
        for file, leaves in zip(files, calls, strict=True):
            write_leaves(file, leaves)
        names = list(map(str, files))
        request = {"artefact": str(artefact), "facts": facts, "calls": names, "answer": str(self._folder)}
        code = self._process.finish(json.dumps(request), seconds)
        if code is None:
            return self._results(f"no answer within {seconds:g} s", timed_out=True)
        return self._results(exit_in_words(code), timed_out=False)

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


def _needs_torch(lowering: Lowering) -> bool:
    return "torch" in lowering.runtime and not lowering.environment
