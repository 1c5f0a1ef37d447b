"""lower-<name>: prove that a target of deployment computes what eager does; the options name its lowering."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.from_program import from_program
from exportlint.trial.child.lowering.input_calls import calls_of
from exportlint.trial.child.lowering.proof import prove
from exportlint.trial.child.lowering.proved import Subject
from exportlint.trial.protocol.outcomes import SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from exportlint.lowering.backend import Lowering


@from_program
def run(request: StageRequest, program: Any) -> StageAnswer:
    """Options: "lowering" (`module:Class`), "settings", and "cache", a folder of earlier results."""
    name = request.options["lowering"]
    try:
        lowering = _made(name, request.options.get("settings", {}))
    except ImportError as exc:
        return StageAnswer(SKIPPED, short(f"{name} cannot be imported: {exc}"))
    loaded = request.loaded
    folder = request.folder / "lowering"
    folder.mkdir()
    cache = Path(request.options["cache"]) if request.options.get("cache") else None
    subject = Subject(name, lowering, program, loaded.eager, calls_of(loaded, request.exported), folder, cache)
    proved = prove(subject)
    for seen in proved.observations:
        request.emit(seen)
    return StageAnswer(proved.status, proved.detail and short(proved.detail), dict(proved.data))


def _made(name: str, settings: dict[str, Any]) -> Lowering:
    module, _, cls = name.partition(":")
    lowering: Lowering = getattr(importlib.import_module(module), cls)(settings)
    return lowering
