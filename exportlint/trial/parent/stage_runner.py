"""Which process of a target runs a stage.

Exports that pass are held: the checks of soundness, decomposing, saving and lowering go on from their programs, and
need no other export.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.parent import TrialUnavailable
from exportlint.trial.parent.connection import last_stack
from exportlint.trial.parent.hash_seed import hash_seed, other_hash_seed, reorders_every_set, what_follows_seed
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, REFUSED
from exportlint.trial.protocol.result import KeptModel, StageResult
from exportlint.trial.protocol.stages import KEEP_MODEL, LOAD
from exportlint.trial.protocol.target import TargetKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from types import TracebackType

    from exportlint.trial.parent.connection import Reply
    from exportlint.trial.parent.server import Server, TargetProcess
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.stages import Stage
    from exportlint.trial.protocol.target import Target


# Those that another process can make as this one did.
_MADE_BY_CODE = (TargetKind.MODULE, TargetKind.CALLABLES, TargetKind.FIXTURE)


@dataclass
class StageRunner:
    """Implements `exportlint.trial.ladder.Runner`; leaving it ends the target's processes."""

    server: Server
    target: Target
    options: TrialOptions
    _process: TargetProcess | None = None
    _held: dict[str, TargetProcess] = field(default_factory=dict)

    def __enter__(self) -> StageRunner:  # noqa: PYI034 - Self needs Python 3.11
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: object, _trace: TracebackType | None) -> None:
        for process in (*self._held.values(), self._process):
            if process is not None:
                process.close()

    def load(self) -> StageResult:
        """Import the target and make it once. `data["broken"]` says why that could not be done, as a sentence."""
        self._process = self.server.target_process(self.target.name, self.options.edited, self.target.waits)
        imported = self._process.load(self.target, [os.getcwd(), *self.target.search], self.options.limits)  # noqa: PTH109 - sys.path wants text
        answer = next((m for m in imported.messages if "loaded" in m or "error" in m), None)
        if answer is None:
            result = died(LOAD.name, imported)
            return _broken(result, f"target {self.target.name}: importing it: {result.detail}")
        if "error" in answer:
            seen = Observation.from_dict(answer["observation"])
            detail = one_line(self._named(answer["error"]))
            return _broken(StageResult(LOAD.name, REFUSED, imported.seconds, detail, (seen,)), answer["error"])
        made = self.fresh(LOAD)
        if not made.passed:
            made = _broken(made, made.data.get("broken") or f"target {self.target.name}: {made.detail}")
        given_to = f", given to {self.target.given_to}" if self.target.given_to and made.passed else ""
        return replace(made, seconds=made.seconds + imported.seconds, detail=f"{made.detail or ''}{given_to}")

    def _named(self, error: str) -> str:
        """A zoo's errors speak of the model, whose name the ladder adds; other targets' name what is wrong."""
        return f"{self.target.name}: {error}" if self.target.kind is TargetKind.ZOO else error

    def fresh(self, stage: Stage, **options: Any) -> StageResult:
        """A stage that starts afresh, in a fork of the target's process."""
        if self._process is None:
            return process_missing(stage.name)
        try:
            return result_of(stage.name, self._process.stage(stage, options, self.options.limits))
        except (EOFError, OSError):
            return process_missing(stage.name)

    def export(self, stage: Stage) -> StageResult:
        """An export; one that passes is held."""
        if self._process is None:
            return process_missing(stage.name)
        try:
            reply, process = self._process.held(stage, self.options.limits)
        except (EOFError, OSError):
            return process_missing(stage.name)
        result = result_of(stage.name, reply)
        if result.passed and stage.mode:
            self._held[stage.mode] = process
        else:
            process.close()
        return result

    def following(self, stage: Stage, mode: str, **options: Any) -> StageResult:
        """A stage that finds the program of the mode's export; where that is not held, it exports anew."""
        for process in (self._held.get(mode), self._process):
            if process is not None:
                with contextlib.suppress(EOFError, OSError):
                    return result_of(stage.name, process.stage(stage, {"mode": mode, **options}, self.options.limits))
        return process_missing(stage.name)

    def elsewhere(self, stage: Stage, files: Sequence[Path], **options: Any) -> StageResult | None:
        """A stage of the same target in another process, whose hashes of strings are others.

        Its answer counts only if a process with the same hashes gives another one: values that differ in every process
        are no matter of the order. None where no file has a set, and for a model that no code makes again.
        """
        can_be_made = self.target.kind in _MADE_BY_CODE and self.server.alive
        seed = other_hash_seed(files, self.options.python) if can_be_made else None
        if seed is None or self._process is None or not self.fresh(stage, keep=True).passed:
            return None
        certain = reorders_every_set(files, seed, self.options.python)
        asked = {**options, "home": str(self._process.folder), "certain": certain, "follows": what_follows_seed(files)}
        found = self._in_server(seed, stage, asked)
        if found is not None and found.status == DIFFERS:
            same = self._in_server(hash_seed(), stage, asked)
            return found if same is not None and same.passed else None
        return found

    def _in_server(self, seed: str, stage: Stage, options: Mapping[str, Any]) -> StageResult | None:
        with (
            contextlib.suppress(TrialUnavailable),  # the other process did not start: nothing is known
            self.server.with_hashes_of(seed) as server,
            StageRunner(server, self.target, self.options) as runner,
        ):
            return runner.fresh(stage, **options) if runner.load().passed else None
        return None

    def kept_model(self, folder: Path) -> KeptModel:
        """Model and inputs, in a new file of the folder."""
        handle, name = tempfile.mkstemp(".pt", dir=folder)
        os.close(handle)
        kept = self.fresh(KEEP_MODEL, file=name)
        return KeptModel(Path(name), tuple(kept.data["search"])) if kept.passed else KeptModel(why=kept.full_detail)


def _broken(result: StageResult, why: str) -> StageResult:
    return replace(result, data={**result.data, "broken": why})


# Make a stage's result of what its process sent and of the way in which it ended.


_LAST_WORDS = 2000  # characters


def result_of(name: str, reply: Reply) -> StageResult:
    """The result that a stage's process sent, or one that describes how it ended without sending any."""
    final = reply.final
    if final is None:
        return died(name, reply)
    data = dict(final.get("data") or {}) | _exported(reply)
    observations, detail = reply.observations, final["detail"] and " ".join(final["detail"].split())
    if final["status"] == CRASHED and not any(one.kind == "exception" for one in observations):
        ended = _end_of_process(detail, CRASHED, reply)
        observations, detail = (*observations, ended), detail + _where(ended)
    return StageResult(name, final["status"], reply.seconds, detail, observations, data)


def died(name: str, reply: Reply) -> StageResult:
    """Crashed or timed out, at the line that the process's last stack names."""
    status = reply.overrun.status if reply.overrun else CRASHED
    ended = _end_of_process(reply.end_in_words(), status, reply)
    detail = one_line(reply.end_in_words() + _where(ended))
    return StageResult(name, status, reply.seconds, detail, (*reply.observations, ended), _exported(reply))


def process_missing(name: str) -> StageResult:
    """The result of a stage for which there is no process to run it."""
    return StageResult(name, CRASHED, detail="the target's process is gone")


def one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _exported(reply: Reply) -> dict[str, Any]:
    """What a stage reported of its export before it ended."""
    return {key: value for message in reply.messages if "exported" in message for key, value in message.items()}


def _end_of_process(text: str, status: str, reply: Reply) -> Observation:
    details = {"ended": status, "output": reply.output[-_LAST_WORDS:]}
    return Observation("exception", text, details=details).at(last_stack(reply.stack))


def _where(seen: Observation) -> str:
    return f" at {Path(seen.user_path).name}:{seen.user_line}" if seen.user_path else ""
