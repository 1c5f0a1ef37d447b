"""lower-<name>: hand the exported program to a lowering; the options name its module."""

from __future__ import annotations

import importlib
from typing import Any

from exportlint.trial.calls import inputs_of
from exportlint.trial.exporting import export
from exportlint.trial.observation import Observation, of_exception
from exportlint.trial.stage import REFUSED, SKIPPED, Answer, Request, short


def run(request: Request) -> Answer:
    """The lowering's own status and words."""
    try:
        lowering = importlib.import_module(request.options["lowering"])
    except ImportError as exc:
        return Answer(SKIPPED, short(f"{request.options['lowering']} cannot be imported: {exc}"))
    loaded = request.loaded
    exported = request.made or export(loaded, request.mode)
    if not exported.is_program:
        return Answer(SKIPPED, "the target's own export call gives no ExportedProgram")
    args, kwargs = inputs_of(loaded, 0)
    folder = request.folder / "lowering"
    folder.mkdir()
    try:
        result = lowering.lower(exported.program, loaded.eager, args, kwargs, folder)
    except BaseException as exc:  # noqa: BLE001 - backends let anything through
        seen = of_exception(exc)
        request.emit(seen)
        return Answer(REFUSED, short(f"{seen.error_class}: {seen.first_line}"))
    for seen in getattr(result, "observations", ()):
        request.emit(seen if isinstance(seen, Observation) else Observation.from_dict(seen))
    return Answer(result.status, short(result.detail), _data(result))


def _data(result: Any) -> dict[str, Any]:
    return dict(getattr(result, "data", None) or {})
