"""How the lowerings of a trial are run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class LoweringOptions:
    """How the lowerings of a trial are run.

    settings   name of a lowering -> those of its settings that are not the usual ones
    cache      a folder of earlier results; None: none are used or kept
    kept       a folder for the artefacts that passed; None: they are thrown away
    dry_run    only say which operators each target takes, and compile nothing
    operators  say it of targets that pass too, even where finding out takes seconds
    """

    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    cache: Path | None = None
    kept: Path | None = None
    dry_run: bool = False
    operators: bool = False
