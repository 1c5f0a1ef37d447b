"""Run the stage of soundness: once for each mode that gave a program, and for what refusals leave; one result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.trial.protocol.outcomes import SKIPPED, worst
from exportlint.trial.protocol.stages import SECOND_EXPORT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.trial.ladder.runner import Runner
    from exportlint.trial.protocol.result import StageResult
    from exportlint.trial.protocol.stages import Stage


def compared_with_eager(runner: Runner, stage: Stage, modes: Sequence[str], *, tolerant: bool) -> StageResult:
    """The checks for the `modes` that gave a program.

    What one mode bakes the other mostly refuses, and a strict export takes long: only the first is exported twice.
    `tolerant`: non-strict was refused, so what an error-tolerant export gives stands in for its program.
    """
    second = [runner.fresh(SECOND_EXPORT, mode=modes[0])] if modes else []
    parts = [runner.following(stage, mode=mode, twice=mode == modes[0]) for mode in modes]
    if tolerant:
        parts.append(runner.fresh(stage, tolerant=True))
    return replace(_united(parts), name=stage.name, seconds=sum(part.seconds for part in (*second, *parts)))


def _united(parts: Sequence[StageResult]) -> StageResult:
    told = [part for part in parts if part.status != SKIPPED] or parts
    status = worst([part.status for part in told])
    shown: dict[str, list[str]] = {}
    for part in told:
        shown |= part.data.get("shown", {})
    return replace(
        next(part for part in told if part.status == status),
        observations=tuple(seen for part in told for seen in part.observations),
        data={"shown": shown},
    )
