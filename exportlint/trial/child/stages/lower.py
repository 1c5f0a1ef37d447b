"""lower-<name>: hand the exported program to a lowering; the options name its module."""

from __future__ import annotations

import importlib
from typing import Any

from exportlint.trial.child.execution.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.from_program import from_program
from exportlint.trial.protocol.exceptions import of_exception
from exportlint.trial.protocol.outcomes import REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short


@from_program
def run(request: StageRequest, program: Any) -> StageAnswer:
    """The lowering's own status and words."""
    try:
        lowering = importlib.import_module(request.options["lowering"])
    except ImportError as exc:
        return StageAnswer(SKIPPED, short(f"{request.options['lowering']} cannot be imported: {exc}"))
    loaded = request.loaded
    args, kwargs = inputs_of(loaded, 0)
    folder = request.folder / "lowering"
    folder.mkdir()
    try:
        result = lowering.lower(program, loaded.eager, args, kwargs, folder)
    except BaseException as exc:  # noqa: BLE001 - backends let anything through
        request.emit(of_exception(exc))
        return StageAnswer(REFUSED, None)
    for seen in result.observations:
        request.emit(seen)
    return StageAnswer(result.status, result.detail and short(result.detail), dict(result.data))
