"""List every break of the graph that Dynamo meets, each place once."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.torch_private.dynamo import explain, graph_breaks_logged
from exportlint.trial.protocol.frames import summary_frames
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.torch_messages import graph_break_id, logged_break

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.trial.child.execution.request import StageRequest


def tell_graph_breaks(request: StageRequest, tell: Callable[[Observation], None]) -> None:
    """Tell every break that Dynamo meets as it meets it, each place once.

    The log names the line of a library alone for some, such as a logger's; what `explain` lists at its end has the
    user's line of these, so they wait for it.
    """
    model = request.loaded.model()
    args, kwargs = inputs_of(request.loaded, 0)
    known: set[tuple[str, int] | None] = set()

    waiting: list[Observation] = []

    def met(seen: Observation) -> None:
        once(seen) if seen.user else waiting.append(seen)

    def once(seen: Observation) -> None:
        place = seen.user or (seen.frames[-1] if seen.frames else None)
        key = (place.path, place.line) if place else None
        if key not in known:
            known.add(key)
            tell(seen)

    with graph_breaks_logged(partial(_tell_logged, met)):
        explained = explain(model)(*args, **kwargs)
    listed = [
        _break(str(one.reason), summary_frames(one.user_stack)) for one in explained.break_reasons if one.graph_break
    ]
    placed = {one.gb_id for one in listed if one.user}
    for seen in (*listed, *(one for one in waiting if one.gb_id not in placed)):
        once(seen)


def _tell_logged(tell: Callable[[Observation], None], text: str) -> None:
    if found := logged_break(text):
        tell(_break(*found))


def _break(reason: str, frames: Any) -> Observation:
    return Observation("graph-break", reason[:5000], gb_id=graph_break_id(reason)).at(frames)
