"""What a stage is given, and what it gives back."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.protocol.stages import WITHOUT_GRADIENTS, stage_named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.observation import Observation


@dataclass(frozen=True)
class StageAnswer:
    """A stage's result.

    detail     one line; None: the parent words it from the observations
    data       JSON for the parent (executed lines, what truth stores …)
    exported   what the stage exported; it never leaves the process, and a stage that follows in a fork of it finds it
    """

    status: str
    detail: str | None = ""
    data: Mapping[str, Any] = field(default_factory=dict)
    exported: Any = None


@dataclass(frozen=True)
class StageRequest:
    """One stage on one target.

    emit       sends an observation at once, so that a crash later loses nothing
    send       sends data at once
    exported   what the stage that this one follows exported; None in a stage that starts afresh
    """

    stage: str
    loaded: Loaded
    folder: Path
    emit: Callable[[Observation], None]
    send: Callable[[Mapping[str, Any]], None]
    options: Mapping[str, Any] = field(default_factory=dict)
    exported: Any = None

    @property
    def mode(self) -> str:
        """The mode of a stage that exports, else the one the options name."""
        return stage_named(self.stage).mode or str(self.options["mode"])

    @property
    def gradient_mode(self) -> AbstractContextManager[Any]:
        """In which the stage runs: that of the process, or without gradients where eager runs so only."""
        return torch.no_grad() if self.options.get(WITHOUT_GRADIENTS) else nullcontext()
