"""What a trial found out, as the parent holds it. No torch here."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exportlint.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from exportlint.trial.observation import Observation
    from exportlint.trial.target import Target

MODES = ("non-strict", "strict")


class TrialUnavailable(UserError):  # noqa: N818 - names a situation
    """No trial can run here at all: torch is missing, or the interpreter does not start. The text says what to do."""


@dataclass(frozen=True, slots=True)
class TrialOptions:
    """What to try, and how much of the machine it may take.

    dynamic    "auto": propose which dims can be declared dynamic
    lower      names in the entry point group `exportlint.lowerings`
    timeout    seconds for each stage
    memory_mb  resident memory of a stage with everything it started
    python     the interpreter that has torch and the target's packages; None: this one
    keep       the process that has torch stays for this process's next trial
    graph      also describe the exported program, to be shown
    parts      a folder for the models and inputs that failed and that no code names; they stay there
    """

    modes: tuple[str, ...] = MODES
    lower: tuple[str, ...] = ()
    dynamic: str | None = None
    timeout: float = 300.0
    memory_mb: int = 16_000
    jobs: int = 1
    python: Path | None = None
    keep: bool = False
    graph: bool = False
    parts: Path | None = None


@dataclass(frozen=True, slots=True)
class Event:
    """Progress: a stage of a target began (`status` is "running") or ended."""

    target: str
    stage: str
    status: str
    seconds: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StageResult:
    """`status` is one of passed, refused, differs, crashed, timed-out, skipped; `detail` is one line."""

    name: str
    status: str
    seconds: float = 0.0
    detail: str = ""
    observations: tuple[Observation, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> bool:
        return self.status == "passed"


@dataclass(frozen=True, slots=True)
class Parts:
    """A model and its inputs in a file that torch.load reads; without one, `why`. `search`: where from it imports."""

    file: Path | None = None
    search: tuple[str, ...] = ()
    why: str = ""


FAILED = ("refused", "differs", "crashed", "timed-out")


@dataclass(frozen=True, slots=True)
class TargetReport:
    """`broken` is the sentence that says why the target could not be tried at all: the tool failed, not the model.

    `executed` gives the lines that eager ran, by absolute path.
    """

    name: str
    path: str | None
    line: int | None
    stages: tuple[StageResult, ...]
    executed: Mapping[str, frozenset[int]]
    dynamic_shapes: str | None = None
    broken: str | None = None
    torch: str | None = None
    target: Target | None = None
    graph: Mapping[str, Any] | None = None
    parts: Parts | None = None

    def stage(self, name: str) -> StageResult | None:
        """The stage of that name, if it was on the ladder."""
        return next((stage for stage in self.stages if stage.name == name), None)
