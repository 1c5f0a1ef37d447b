"""further: find the refusals after the first one, at which an export ends.

In non-strict mode an error-tolerant export goes on to the next; in strict mode Dynamo does, which may break the graph.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch

from exportlint.trial.child.dynamic_shapes.shape_decisions import recorded_decisions
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.error_tolerant import eager_results, tolerant_export
from exportlint.trial.child.export.graph_breaks import as_in_export, graph_breaks
from exportlint.trial.child.localize.refusal_lines import located_refusal
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, REFUSED, SKIPPED, STRICT, worst

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.protocol.observation import Observation


_Place = tuple[str | None, int | None, str]


def run(request: StageRequest) -> StageAnswer:
    """Every mode in the options was refused. Each refusal is an exception observation with its mode."""
    if request.loaded.export:
        return StageAnswer(SKIPPED, "the target brings its own export call")
    statuses: list[str] = []
    found: set[_Place] = set()
    for mode in request.options["modes"]:
        look = _strict if mode == STRICT else _non_strict
        result = in_fork(lambda: list(_once(look(request))), request.folder)  # noqa: B023 - called at once
        for seen in result.value or ():
            found.add(_place(seen))
            request.emit(seen.with_details(mode=mode))
        statuses.append(CRASHED if result.ended else PASSED)
    status = worst([*statuses, *([REFUSED] if found else [])])
    return StageAnswer(status, f"{len(found)} lines refused in one go" if len(found) != 1 else "1 line refused")


def _non_strict(request: StageRequest) -> Iterator[Observation]:
    with recorded_decisions() as decisions:
        refusals = tolerant_export(request.loaded, eager_results(request.loaded)).refusals
    for seen in refusals:
        yield from located_refusal(request, seen, decisions)


def _strict(request: StageRequest) -> Iterator[Observation]:
    """A break of the graph where Dynamo runs as export lets it run is what strict export refuses."""
    with torch._dynamo.config.patch(**as_in_export()):  # noqa: SLF001 - documented as torch._dynamo.config
        breaks = graph_breaks(request)
    for seen in breaks:
        # It is about the function around a break that Dynamo could not resume after; strict export never resumes.
        if "Failed to handle graph break gracefully" not in seen.text:
            yield dataclasses.replace(seen, kind="exception").with_details(further=True)


def _once(refusals: Iterator[Observation]) -> Iterator[Observation]:
    """A line in a loop is refused at every turn."""
    known: set[_Place] = set()
    for seen in refusals:
        if _place(seen) not in known:
            known.add(_place(seen))
            yield seen


def _place(seen: Observation) -> _Place:
    """The line; of what has none, torch's words."""
    return seen.user_path, seen.user_line, "" if seen.user else seen.first_line
