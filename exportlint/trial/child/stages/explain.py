"""explain: where torch.compile would break the graph. Information: export fails on a different set of programs."""

from __future__ import annotations

from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.graph_breaks import graph_breaks
from exportlint.trial.protocol.exceptions import of_exception
from exportlint.trial.protocol.outcomes import PASSED, REFUSED


def run(request: StageRequest) -> StageAnswer:
    """Each break once, at its line."""
    try:
        breaks = graph_breaks(request)
    except BaseException as exc:  # noqa: BLE001 - torch lets anything through
        request.emit(of_exception(exc))
        return StageAnswer(REFUSED, None)
    for seen in breaks:
        request.emit(seen)
    return StageAnswer(PASSED, f"{len(breaks)} graph breaks" if len(breaks) != 1 else "1 graph break")
