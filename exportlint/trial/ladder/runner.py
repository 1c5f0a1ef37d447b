"""What the ladder asks of whoever runs its stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from exportlint.trial.protocol.result import KeptModel, StageResult
    from exportlint.trial.protocol.stages import Stage


class Runner(Protocol):
    """Runs stages of one target. `exportlint.trial.parent.stage_runner` does it in processes."""

    def load(self) -> StageResult:
        """Import the target and make it once."""

    def fresh(self, stage: Stage, **options: Any) -> StageResult:
        """A stage that starts afresh."""

    def elsewhere(self, stage: Stage, files: Sequence[Path], **options: Any) -> StageResult | None:
        """A stage in a process in which the sets in the files have another order; None where they have none."""

    def export(self, stage: Stage) -> StageResult:
        """An export; the program of one that passes is kept for the stages that follow."""

    def following(self, stage: Stage, mode: str, **options: Any) -> StageResult:
        """A stage that goes on from the program that is kept of the mode."""

    def kept_model(self, folder: Path) -> KeptModel:
        """The model and its inputs in a new file of the folder."""
