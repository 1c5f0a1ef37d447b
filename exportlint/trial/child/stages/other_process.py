"""other-process: eager once more, in a process in which sets have another order, beside the eager of the trial."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.call_record import kept_records, record_calls
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import is_unsteady
from exportlint.trial.child.soundness.second_export import (
    keep_weights,
    kept_literals,
    kept_weights,
    literals_of_second_export,
)
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, SKIPPED

if TYPE_CHECKING:
    from exportlint.trial.child.execution.comparison import Difference


_SAMPLE = (0,)


def run(request: StageRequest) -> StageAnswer:
    """Options: `home`, the folder of the trial's own process; `mode`, that of its second export; `modes`, all that gave
    a program, which is bound to the one order in each; `certain`, whether every set has another order here;
    `follows`, what in the files another seed changes.

    Without a home this is that process, and keeps the weights of its model for the other.
    """
    if "home" not in request.options:
        keep_weights(request.folder.parent, request.loaded.eager())
        return StageAnswer(PASSED)
    home = Path(request.options["home"])
    eager, again = kept_records(home)
    model = request.loaded.eager()
    if is_unsteady(eager, again) or not _has_weights_of(model, home):
        return StageAnswer(SKIPPED)
    here = record_calls(request.loaded, model, _SAMPLE)
    if eager.calls[0].raised or here.calls[0].raised:
        return StageAnswer(SKIPPED)
    found = compare(eager.calls[0].output, here.calls[0].output)
    if found is None:
        shown = ["other-process"] if request.options["certain"] else []
        return StageAnswer(PASSED, "", {"shown": dict.fromkeys(request.options["modes"], shown)})
    place = _first_other_line(request, home)
    for mode in request.options["modes"]:
        request.emit(_difference(found, mode).with_details(follows=request.options["follows"]).at(place))
    return StageAnswer(DIFFERS, "")


def _has_weights_of(model: Any, home: Path) -> bool:
    """Give the model the weights of the trial's own; those drawn in another order are no difference of the code."""
    weights = kept_weights(home)
    if weights is None or not isinstance(model, torch.nn.Module):
        return weights is None
    try:
        model.load_state_dict(weights)
    except Exception:  # noqa: BLE001 - another structure: nothing can be compared
        return False
    return True


def _difference(found: Difference, mode: str) -> Observation:
    return Observation("difference", details={"check": "other-process", "mode": mode, **found.fields()})


def _first_other_line(request: StageRequest, home: Path) -> list[Frame]:
    """Where the first operation stands that this process exports otherwise."""
    ours = kept_literals(home) or {}
    theirs = in_fork(lambda: literals_of_second_export(request, request.mode), request.folder).value or {}
    pairs = zip(ours.get("text", ()), theirs.get("text", ()), ours.get("nodes", ()), strict=False)
    place: list[list[Any]] = next((node[2] for a, b, node in pairs if a != b and node[2]), [])
    return [Frame(*frame) for frame in place]
