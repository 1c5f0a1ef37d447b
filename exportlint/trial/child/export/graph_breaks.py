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
    """Tell every break that Dynamo meets as it meets it, each place once."""
    model = request.loaded.model()
    args, kwargs = inputs_of(request.loaded, 0)
    known: set[tuple[str, int] | None] = set()

    def once(seen: Observation) -> None:
        place = seen.user or (seen.frames[-1] if seen.frames else None)
        key = (place.path, place.line) if place else None
        if key not in known:
            known.add(key)
            tell(seen)

    with graph_breaks_logged(partial(_tell_logged, once)):
        explained = explain(model)(*args, **kwargs)
    for one in explained.break_reasons:
        if one.graph_break:
            once(_break(str(one.reason), summary_frames(one.user_stack)))


def _tell_logged(tell: Callable[[Observation], None], text: str) -> None:
    if found := logged_break(text):
        tell(_break(*found))


def _break(reason: str, frames: Any) -> Observation:
    return Observation("graph-break", reason[:5000], gb_id=graph_break_id(reason)).at(frames)
