"""explain: where torch.compile would break the graph. Information: export fails on a different set of programs."""

from __future__ import annotations

from functools import partial

from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.graph_breaks import tell_graph_breaks
from exportlint.trial.child.server.forks import told_in_fork
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, REFUSED


def run(request: StageRequest) -> StageAnswer:
    """Each break once, at its line. Option `cpu_seconds`: when to stop, with what was met by then."""
    limit = int(request.options["cpu_seconds"])
    told = told_in_fork(partial(tell_graph_breaks, request), request.folder, limit)
    for seen in told.parts:
        request.emit(seen)
    count = "graph breaks at 1 place" if len(told.parts) == 1 else f"graph breaks at {len(told.parts)} places"
    if not told.parts:
        count = "0 graph breaks"
    if told.stopped:
        return StageAnswer(PASSED, f"{count} in {limit} s, where it was stopped")
    if told.result.ended:
        return StageAnswer(CRASHED, told.result.ended)
    if told.result.raised:
        request.emit(told.result.raised)
        return StageAnswer(REFUSED, None)
    return StageAnswer(PASSED, count)
