"""Run the stage of soundness: once for each mode that gave a program, and for what refusals leave; one result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, SKIPPED, worst
from exportlint.trial.protocol.stages import OTHER_PROCESS, SECOND_EXPORT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exportlint.trial.ladder.runner import Runner
    from exportlint.trial.protocol.result import StageResult
    from exportlint.trial.protocol.stages import Stage


def compared_with_eager(
    runner: Runner, stage: Stage, modes: Sequence[str], files: Sequence[Path], *, tolerant: bool, **options: Any
) -> StageResult:
    """The checks for the `modes` that gave a program.

    What one mode bakes the other mostly refuses, and a strict export takes long: only the first is exported twice.
    `files`: the target's own, as far as they ran.
    `tolerant`: non-strict was refused, so what an error-tolerant export gives stands in for its program.
    """
    more = list(_in_other_processes(runner, modes, files)) if modes else []
    parts = [runner.following(stage, mode=mode, twice=mode == modes[0], **options) for mode in modes]
    if tolerant:
        parts.append(runner.fresh(stage, tolerant=True))
    parts += [one for one in more if one.name == OTHER_PROCESS.name and one.status in (PASSED, DIFFERS)]
    return replace(_united(parts), name=stage.name, seconds=sum(part.seconds for part in (*more, *parts)))


def _in_other_processes(runner: Runner, modes: Sequence[str], files: Sequence[Path]) -> Iterator[StageResult]:
    """A second export, and eager where the sets of the target's files have another order."""
    yield runner.fresh(SECOND_EXPORT, mode=modes[0])
    if other := runner.elsewhere(OTHER_PROCESS, files, mode=modes[0], modes=modes):
        yield other


def _united(parts: Sequence[StageResult]) -> StageResult:
    told = [part for part in parts if part.status != SKIPPED] or parts
    status = worst([part.status for part in told])
    shown: dict[str, list[str]] = {}
    for mode, kinds in (item for part in told for item in part.data.get("shown", {}).items()):
        shown[mode] = [*shown.get(mode, ()), *kinds]
    return replace(
        next(part for part in told if part.status == status),
        observations=tuple(seen for part in told for seen in part.observations),
        data={"shown": shown},
    )
