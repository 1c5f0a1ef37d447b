"""further: find the refusals after the first one, at which an export ends.

In non-strict mode an error-tolerant export goes on to the next; in strict mode Dynamo does, which may break the graph.
"""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING

from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.error_tolerant import eager_results, tolerant_export
from exportlint.trial.child.export.graph_breaks import tell_graph_breaks
from exportlint.trial.child.export.refusal_lines import located_refusal
from exportlint.trial.child.server.forks import told_in_fork
from exportlint.trial.child.torch_private.dynamo import as_in_export
from exportlint.trial.child.torch_private.symbolic_shapes import recorded_decisions
from exportlint.trial.protocol.frames import is_own_path, message_frames
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, REFUSED, SKIPPED, STRICT, worst
from exportlint.trial.protocol.torch_messages import could_not_resume

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exportlint.trial.protocol.observation import Observation


_Place = tuple[str | None, int | None, str]


def run(request: StageRequest) -> StageAnswer:
    """Each refusal is an exception observation with its mode.

    Options: `modes`, those that were refused; `cpu_seconds`, when to stop in each, with what was met by then.
    """
    if request.loaded.export:
        return StageAnswer(SKIPPED, "the target brings its own export call")
    statuses: list[str] = []
    found: set[_Place] = set()
    limit = int(request.options["cpu_seconds"])
    stopped = False
    for mode in request.options["modes"]:
        look = _strict if mode == STRICT else _non_strict
        told = told_in_fork(partial(look, request), request.folder, limit)
        for seen in _once(told.parts):
            found.add(_place(seen))
            request.emit(seen.with_details(mode=mode))
        statuses.append(CRASHED if told.result.ended and not told.stopped else PASSED)
        stopped = stopped or told.stopped
    status = worst([*statuses, *([REFUSED] if found else [])])
    count = f"{len(found)} lines refused in one go" if len(found) != 1 else "1 line refused"
    detail = f"{count}, where it was stopped after {limit} s" if stopped else count
    return StageAnswer(status, detail, {"stopped": stopped})


def _non_strict(request: StageRequest, tell: Callable[[Observation], None]) -> None:
    with recorded_decisions() as decisions:
        refusals = tolerant_export(request.loaded, eager_results(request.loaded)).refusals
    for refusal in refusals:
        if _is_of_this_trace(refusal):
            continue
        for seen in located_refusal(request, refusal, decisions):
            tell(seen)


def _is_of_this_trace(refusal: Observation) -> bool:
    """Does Dynamo, which cond runs, refuse what goes on after a refusal in the place of torch's own, or an iterator of
    torch's own come to its end early, at no line of the model? That says nothing of the model."""
    name = str(refusal.error_class).rpartition(".")[2]
    if name == "StopIteration" and not refusal.user:
        return True
    frames = message_frames(refusal.text) if name in ("Unsupported", "UncapturedHigherOrderOpError") else ()
    return bool(frames) and is_own_path(frames[-1].path)


def _strict(request: StageRequest, tell: Callable[[Observation], None]) -> None:
    """A break of the graph where Dynamo runs as export lets it run is what strict export refuses."""

    def tell_refusal(seen: Observation) -> None:
        # It is about the function around a break that Dynamo could not resume after, or about what an earlier break has
        # left to Python; strict export never resumes.
        if not could_not_resume(seen.text) and _FOLLOWS not in seen.text:
            tell(dataclasses.replace(seen, kind="exception").with_details(further=True))

    with as_in_export():
        tell_graph_breaks(request, tell_refusal)


_FOLLOWS = "may have been caused by an earlier graph break"


def _once(refusals: Iterable[Observation]) -> Iterator[Observation]:
    """A line in a loop is refused at every turn; of what was refused at a line, torch also tells without the line."""
    every = list(refusals)
    placed = {seen.text for seen in every if seen.user}
    known: set[_Place] = set()
    for seen in every:
        if _place(seen) not in known and (seen.user or seen.text not in placed):
            known.add(_place(seen))
            yield seen


def _place(seen: Observation) -> _Place:
    """The line; of what has none, torch's words."""
    return seen.user_path, seen.user_line, "" if seen.user else seen.first_line
