"""What every stage is given and what it gives back. Runs in the child; standard library only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from exportlint.trial.loading import Loaded
    from exportlint.trial.observation import Observation

PASSED, REFUSED, DIFFERS, CRASHED, TIMED_OUT, SKIPPED = (
    "passed",
    "refused",
    "differs",
    "crashed",
    "timed-out",
    "skipped",
)

# The worst word wins where a stage looks at several things.
_RANK = (PASSED, SKIPPED, DIFFERS, REFUSED, TIMED_OUT, CRASHED)


@dataclass(frozen=True)
class Answer:
    """A stage's result: `data` is JSON for the parent (executed lines, what truth stores …).

    `made` never leaves the process: a stage that follows in a fork of it finds it in its request.
    """

    status: str
    detail: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    made: Any = None


@dataclass(frozen=True)
class Request:
    """One stage on one target. `emit` sends an observation at once, so that a crash later loses nothing.

    `made`: what the stage made that this one follows, such as the exported program; None in a stage that starts afresh.
    """

    stage: str
    loaded: Loaded
    folder: Path
    emit: Callable[[Observation], None]
    tell: Callable[[Mapping[str, Any]], None]
    options: Mapping[str, Any] = field(default_factory=dict)
    made: Any = None

    @property
    def mode(self) -> str:
        """The mode of `export-<mode>` stages, else the one the options name."""
        return self.stage.removeprefix("export-") if self.stage.startswith("export-") else str(self.options["mode"])


Stage = Callable[[Request], Answer]


def worst(statuses: list[str]) -> str:
    """The gravest of the statuses; passed for none."""
    return max(statuses, key=_RANK.index, default=PASSED)


def short(text: str) -> str:
    """One line of at most 200 characters."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    line = re.sub(r"\s+", " ", line)
    return line if len(line) <= 200 else line[:199] + "…"  # noqa: PLR2004 - said above
