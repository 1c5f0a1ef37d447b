"""The processes of one target, and which of them runs a stage. Runs in the parent.

The first export that passes is held: decomposing, saving and lowering go on from its program, and need no other export.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.ending import died, gone, one_line, result_of
from exportlint.trial.observation import Observation
from exportlint.trial.report import Event, Parts, StageResult, TrialOptions

if TYPE_CHECKING:
    from exportlint.trial.limits import Limits
    from exportlint.trial.server import Server, TargetProcess
    from exportlint.trial.target import Target


@dataclass
class Processes:
    """`broken`: why the target could not be loaded, which is no failure of the model."""

    server: Server
    target: Target
    options: TrialOptions
    on_event: Callable[[Event], None]
    broken: str | None = None
    _process: TargetProcess | None = None
    _held: TargetProcess | None = None

    def close(self) -> None:
        for process in (self._held, self._process):
            if process is not None:
                process.close()

    def load(self) -> StageResult:
        """Import the target and make it once."""
        self._begins("load")
        self._process = self.server.target_process(self.target.name)
        imported = self._process.load(self.target, [os.getcwd(), *self.target.search], self._limits())  # noqa: PTH109 - sys.path wants text
        reply = next((m for m in imported.messages if "loaded" in m or "error" in m), None)
        if reply is None:
            result = died("load", imported)
            self.broken = f"target {self.target.name}: importing it: {result.detail}"
            return result
        if "error" in reply:
            self.broken = reply["error"]
            seen = Observation.from_dict(reply["observation"])
            return StageResult("load", "refused", imported.seconds, one_line(reply["error"]), (seen,))
        made = self._ran("load", "load", {})
        if not made.passed:
            self.broken = made.data.get("broken") or f"target {self.target.name}: {made.detail}"
        given_to = f", given to {self.target.given_to}" if self.target.given_to and made.passed else ""
        return replace(made, seconds=made.seconds + imported.seconds, detail=made.detail + given_to)

    def stage(self, name: str, module: str, **options: Any) -> StageResult:
        """A stage that starts afresh, in a fork of the target's process."""
        self._begins(name)
        return self._ran(name, module, options)

    def export(self, name: str) -> StageResult:
        """An export; the first that passes is held."""
        if self._held is not None or self._process is None:
            return self.stage(name, "export")
        self._begins(name)
        try:
            answered, process = self._process.held(name, "export", {}, self._limits())
        except (EOFError, OSError):
            return gone(name)
        result = result_of(name, answered)
        if result.passed:
            self._held = process
        else:
            process.close()
        return result

    def following(self, name: str, module: str, **options: Any) -> StageResult:
        """A stage that finds the program of the held export; where that process is gone, it exports anew."""
        self._begins(name)
        for process in (self._held, self._process):
            if process is not None:
                with contextlib.suppress(EOFError, OSError):
                    return result_of(name, process.stage(name, module, options, self._limits()))
        return gone(name)

    def parts(self, folder: Path) -> Parts:
        """Model and inputs, in a new file of the folder."""
        handle, name = tempfile.mkstemp(".pt", dir=folder)
        os.close(handle)
        kept = self._ran("parts", "parts", {"file": name})
        return Parts(Path(name), tuple(kept.data["search"])) if kept.passed else Parts(why=kept.detail)

    def _ran(self, name: str, module: str, options: dict[str, Any]) -> StageResult:
        if self._process is None:
            return gone(name)
        try:
            return result_of(name, self._process.stage(name, module, options, self._limits()))
        except (EOFError, OSError):
            return gone(name)

    def _begins(self, name: str) -> None:
        self.on_event(Event(self.target.name, name, "running"))

    def _limits(self) -> Limits:
        from exportlint.trial.limits import Limits  # noqa: PLC0415 - psutil comes with the extra; `session` asks for it

        return Limits(self.options.timeout, self.options.memory_mb)
