"""Several targets beside all stages and lowerings: what became of each, and why what did not pass did not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.trial.protocol.outcomes import PASSED
from exportlint.trial.protocol.stages import stage_named

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@dataclass(frozen=True, slots=True)
class WhyNot:
    """Why stages of a target did not pass, at a line of the model where one is known."""

    stages: tuple[str, ...]
    status: str
    text: str
    path: str | None = None
    line: int | None = None

    @property
    def place(self) -> str:
        return f"{self.path}:{self.line}" if self.path else ""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One target. `statuses`: of each stage that it has come to."""

    name: str
    statuses: Mapping[str, str]
    seconds: Mapping[str, float]
    reasons: tuple[WhyNot, ...] = ()


@dataclass(frozen=True, slots=True)
class Matrix:
    """All targets. `required`: the stages that every target must pass."""

    torch: str | None
    stages: tuple[str, ...]
    rows: tuple[MatrixRow, ...]
    required: tuple[str, ...] = ()

    @property
    def unmet(self) -> tuple[tuple[str, str, str], ...]:
        """Target, stage and status of what was required and did not pass; a stage that never ran is `not run`."""
        every = ((row.name, stage, row.statuses.get(stage, "not run")) for row in self.rows for stage in self.required)
        return tuple(one for one in every if one[2] != PASSED)

    @property
    def headline(self) -> str:
        """The run in one sentence."""
        of_lowerings = [stage for stage in self.stages if stage_named(stage).lowering]
        passed = sum(row.statuses.get(stage) == PASSED for row in self.rows for stage in of_lowerings)
        number = len(self.rows)
        targets = "1 target" if number == 1 else f"{number} targets"
        lowered = f"; {passed} of {number * len(of_lowerings)} lowerings passed" if of_lowerings else ""
        return f"{targets}{f' (torch {self.torch})' if self.torch else ''}{lowered}"

    def unmet_in_words(self) -> Iterator[str]:
        """A line for each."""
        for target, stage, status in self.unmet:
            yield f"required and not passed: {column(stage)} of {target} ({status})"


def column(stage: str) -> str:
    """What a stage is called above its column."""
    return stage_named(stage).lowering or stage


def short_names(names: list[str]) -> dict[str, str]:
    """Without their folders, where that leaves each its own name."""
    short = {name: Path(name).name if "/" in name else name for name in names}
    own = list(short.values())
    return {name: one if own.count(one) == 1 else name for name, one in short.items()}
