"""soundness: what nobody else checks once export accepts. Other values, a second call, eager after, baked literals."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from exportlint.trial.calls import PLAN, Record, record
from exportlint.trial.comparing import as_state, differences, eager_after
from exportlint.trial.exporting import Exported, export
from exportlint.trial.graphs import baked, literals, perturbed
from exportlint.trial.isolate import in_fork
from exportlint.trial.leftovers import graph_notes, leaks
from exportlint.trial.observation import Observation
from exportlint.trial.parting import at_parting
from exportlint.trial.stage import CRASHED, DIFFERS, PASSED, SKIPPED, Answer, Request, short, worst
from exportlint.trial.stages.eager import kept
from exportlint.trial.stages.onward import onward
from exportlint.trial.values import compare

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


def run(request: Request) -> Answer:
    """All checks for every mode in the options; each observation says its mode in the details. `onward`: non-strict is
    refused, so the program of a trace that went on after the refusals stands in."""
    said: list[tuple[str, str]] = []
    for index, mode in enumerate(request.options["modes"]):
        # What one mode bakes the other mostly refuses, and a second strict export takes as long as the first.
        for status, detail, seen in _mode(request, mode, twice=index == 0):
            said.append((status, detail))
            if seen is not None:
                request.emit(_with(seen, mode=mode))
    further = onward(request) if request.options.get("onward") else []
    for seen in further or ():
        said.append((DIFFERS, short(f"without what is refused: {seen.text}")))
        request.emit(_with(seen, mode="non-strict", onward=True))
    if not said and not request.options["modes"]:
        if further is None:
            return Answer(SKIPPED, "what the refusals leave gives no program to run")
        return Answer(PASSED, "nothing more in what the refusals leave")
    status = worst([status for status, _ in said])
    return Answer(status, next((detail for one, detail in said if one == status), ""))


def _with(seen: Observation, **details: Any) -> Observation:
    return dataclasses.replace(seen, details={**seen.details, **details})


def _mode(request: Request, mode: str, *, twice: bool) -> Iterator[tuple[str, str, Observation | None]]:
    eager, again = kept(request.folder.parent)
    # Forks come first: they must not inherit what an export leaves in this process.
    twin = in_fork(lambda: _twin(request, mode), request.folder).value if twice else None
    outcome = in_fork(lambda: list(_checks(request, mode, eager, again, twin)), request.folder)
    if outcome.ended:
        yield CRASHED, short(f"{mode}: {outcome.ended}"), None
    elif outcome.raised:
        yield CRASHED, short(f"{mode}: {outcome.raised.text}"), outcome.raised
    for seen in outcome.value or ():
        yield DIFFERS if seen.kind == "difference" else PASSED, short(f"{mode}: {seen.text}"), seen


def _twin(request: Request, mode: str) -> dict[str, Any]:
    return literals(perturbed(lambda: export(request.loaded, mode, number=1)).program)


def _checks(
    request: Request, mode: str, eager: Record, again: Record, twin: Mapping[str, Any] | None
) -> Iterator[Observation]:
    exported = export(request.loaded, mode)
    if exported.is_program:
        yield from graph_notes(exported)
        if twin is not None:
            yield from baked(literals(exported.program), twin)
    yield from leaks(exported)
    # Before the program runs: it shares its buffers with the model. In a fork: the model's run is not to reach them.
    after = in_fork(lambda: record(request.loaded, exported.model, PLAN), request.folder)
    by_state = _state_alone(request, exported) if eager.changed else False
    theirs = record(request.loaded, exported.module(), PLAN)
    for seen in differences(eager, again, theirs):
        late = seen.details["check"] == "output" and seen.details["draw"]
        yield as_state(seen, eager, theirs) if late and by_state else at_parting(request, seen, exported.module, mode)
    if exported.model is not None and after.value is not None:
        yield from eager_after((eager, again), after.value)
    if _unsteady(eager, again):
        yield Observation("note", "eager gives other values in every run", details={"note": "eager-unstable"})


def _state_alone(request: Request, exported: Exported) -> bool:
    """Do both agree on the other values when nothing was called before?"""
    first = (1,)
    eager = in_fork(lambda: record(request.loaded, request.loaded.eager(), first), request.folder)
    theirs = in_fork(lambda: record(request.loaded, exported.module(), first), request.folder)
    if not (eager.ok and theirs.ok):
        return False
    return not any(seen.details["check"] == "output" for seen in differences(eager.value, eager.value, theirs.value))


def _unsteady(eager: Record, again: Record) -> bool:
    return any(compare(a.output, b.output, exact=True) for a, b in zip(eager.rows, again.rows, strict=False))
