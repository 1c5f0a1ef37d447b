"""eager: the model runs on its sample. Records the executed lines, and the calls that later stages compare with."""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.call_record import (
    INPUTS,
    RunRecord,
    has_effects,
    keep_records,
    plan_of_calls,
    record_calls,
    without_left_out,
)
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines, whole_functions
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, leaves, snapshot
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.execution.state import state_reader, state_slots
from exportlint.trial.child.execution.time_limit import ON_DRAWN_VALUES, OutOfTimeError, in_time
from exportlint.trial.child.execution.writing_lines import writing_lines
from exportlint.trial.child.loading.held_moment import HeldMoment
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.forks import ForkResult, in_fork
from exportlint.trial.child.torch_private.dynamo import as_if_exporting
from exportlint.trial.protocol.frames import Frame, is_installed
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.options import CALL_PLAN
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, REFUSED
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.stages import TRY_WITHOUT_GRADIENTS, WITHOUT_GRADIENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from exportlint.trial.child.loading.loaded import Loaded


def run(request: StageRequest) -> StageAnswer:
    """Two eager runs in two processes: the one records its lines, the other shows whether eager repeats itself. Where
    the request allows it, under `torch.no_grad()` if the model runs on its sample so only."""
    again = in_fork(lambda: _fresh_run(request), request.folder)
    if request.options.get(TRY_WITHOUT_GRADIENTS) and again.ok and again.value.calls[0].raised:
        with torch.no_grad():
            without = in_fork(lambda: _fresh_run(request), request.folder)
            if without.ok and not without.value.calls[0].raised:
                answer = _noted(request, without)
                return replace(answer, detail=_ONLY_WITHOUT, data={**answer.data, WITHOUT_GRADIENTS: True})
    return _noted(request, again)


_ONLY_WITHOUT = "runs under `torch.no_grad()` only; so it was called in all that follows"


def _noted(request: StageRequest, again: ForkResult) -> StageAnswer:
    """A run beside `again`, and what its calls leave behind."""
    places = _places(request, again) if again.ok else again
    around, inside, compiled = (defaultdict[str, set[int]](set) for _ in range(3))
    with recorded_lines(around):
        plan = plan_of_calls(again.value) if again.ok else CALL_PLAN
        around_each = partial(recorded_lines, inside, compiled)
        first = record_calls(request.loaded, request.loaded.eager(), plan, around_each)
    executed = _executed(around, inside, compiled)
    if not again.ok:
        return _failed(request, again, executed)
    first = replace(first, changed={**first.changed, **(places.value or {})})
    if has_effects(first) or INPUTS in first.changed:
        exporting = in_fork(lambda: _run_as_if_exporting(request), request.folder)
        first = without_left_out(first, exporting.value) if exporting.ok else first
    names = [name for name in first.changed if name != INPUTS]
    first = replace(first, mattering=frozenset(state_that_changes_outputs(request.loaded, names, request.folder)))
    keep_records(request.folder.parent, first, again.value)
    sample = first.calls[0]
    if sample.raised:
        request.emit(sample.raised.with_details(by_name=_is_meant_by_name(request.loaded)))
        return StageAnswer(REFUSED, None, executed)
    for seen in _notes(first):
        request.emit(seen)
    given_up = {call.input_set for call in again.value.calls if call.did_not_end}
    for input_set in given_up:
        request.emit(Observation("note", details={"note": "input-set-without-end", "input_set": input_set}))
    return StageAnswer(PASSED, _ENDLESS if given_up else "", executed)


_ENDLESS = "did not end in time on values drawn anew, so only the sample was called"


def _is_meant_by_name(loaded: Loaded) -> bool:
    """Is the one argument a dict whose keys are parameters of forward? `model(**inputs)` takes it apart, and the
    exporter does not."""
    args, kwargs = inputs_of(loaded, 0)
    if len(args) != 1 or kwargs or not isinstance(args[0], Mapping):
        return False
    model = loaded.eager()
    parameters = inspect.signature(getattr(model, "forward", model)).parameters
    return len(parameters) > 1 and {*args[0]} <= {*parameters}


def _executed(around: Lines, inside: Lines, compiled: Lines) -> dict[str, Any]:
    """The lines that ran; those of the project's own that ran inside of the model's calls, or may have: Python does not
    tell which lines of a compiled function run; and those of installed packages that did."""
    every = {path: sorted(around.get(path, set()) | inside.get(path, set())) for path in {**around, **inside}}
    own = [path for path in inside if not is_installed(path)]
    called = {path: inside[path] | whole_functions(path, compiled.get(path, set())) for path in own}
    packages = {path: sorted(lines) for path, lines in inside.items() if path not in called}
    own_lines = {path: sorted(lines) for path, lines in called.items()}
    return {"executed": every, "called": own_lines, "called_in_packages": packages}


def _fresh_run(request: StageRequest) -> RunRecord:
    return record_calls(request.loaded, request.loaded.eager())


def _run_as_if_exporting(request: StageRequest) -> RunRecord:
    return record_calls(request.loaded, request.loaded.eager(), around=as_if_exporting)


def _writing_lines(request: StageRequest, seen: RunRecord) -> dict[str, Frame]:
    """The lines that change what the record found changed; "inputs" for writes into the arguments."""
    loaded = request.loaded
    given = [inputs_of(loaded, one) for one in sorted(set(plan_of_calls(seen)))]
    watched = {INPUTS: lambda: [value for _, value in leaves(given)]} if _inputs_change(loaded, seen) else {}
    if not watched and not seen.changed:
        return {}  # watching looks at everything watched on every line
    model = loaded.eager()
    watched |= {name: state_reader(model, name) for name in seen.changed}
    return writing_lines(lambda: [model(*args, **kwargs) for args, kwargs in given], watched)


def _places(request: StageRequest, again: ForkResult) -> ForkResult:
    """Asked once more where the process ended without an answer: no line would be told of what the model changes."""
    first = in_fork(lambda: _writing_lines(request, again.value), request.folder)
    return first if first.ok else in_fork(lambda: _writing_lines(request, again.value), request.folder)


def _inputs_change(loaded: Loaded, seen: RunRecord) -> bool:
    """Did a call leave its arguments otherwise than they were given?"""
    given = {call.input_set: snapshot(inputs_of(loaded, call.input_set)) for call in seen.calls}
    return any(compare(given[call.input_set], call.inputs, exact=True) is not None for call in seen.calls)


def _failed(request: StageRequest, again: ForkResult, data: dict[str, Any]) -> StageAnswer:
    if again.raised:
        request.emit(again.raised)
        return StageAnswer(REFUSED, short(again.raised.text), data)
    return StageAnswer(CRASHED, again.ended or "", data)


def _notes(first: RunRecord) -> Iterator[Observation]:
    for call in first.calls:
        if call.raised:
            details = {"note": "input-set-refused", "input_set": call.input_set}
            yield Observation("note", call.raised.first_line, details=details)
    for name, frame in first.changed.items():
        note = "inputs-changed" if name == INPUTS else "attribute-changed"
        details = {"note": note, "attribute": name, "matters": name in (first.mattering or ())}
        yield Observation("note", details=details).at([frame] if frame else [])


# Find the state that changes outputs: restore each attribute after the first call, and compare the second call.


# Each costs two calls of the model.
_MOST = 8


def state_that_changes_outputs(loaded: Loaded, names: Iterable[str], folder: Path) -> set[str]:
    """The names, of those given, whose change in the first call changes what the second call returns.

    Every try runs in a fork of its own, in `folder`.
    """
    some, moment = list(names)[:_MOST], HeldMoment()
    usual = in_fork(lambda: _second_call(loaded, None, moment), folder) if some else None
    if usual is None or not usual.ok:
        return set()
    runs = {name: in_fork(partial(_second_call, loaded, name, moment), folder) for name in some}
    return {name for name, run in runs.items() if run.ok and _differ(usual.value, run.value)}


def _differ(usual: list[Leaves], other: list[Leaves]) -> bool:
    return any(compare(a, b, exact=True) for a, b in zip(usual, other, strict=True))


def _second_call(loaded: Loaded, restored: str | None, moment: HeldMoment) -> list[Leaves]:
    """What the sample gives in a second call, and what other values give, where the model takes them; at one moment,
    or a clock would make a difference between any two."""
    with moment.held():
        return [_after_first(loaded, restored, input_set) for input_set in (0, 1)]


def _after_first(loaded: Loaded, restored: str | None, input_set: int) -> Leaves:
    model = loaded.eager()
    slots = state_slots(model, restored) if restored else []
    before = [(holder, key, key in holder, copied(holder.get(key))) for holder, key in slots]
    _call(loaded, model, 0)
    for holder, key, there, value in before:
        holder.pop(key, None)
        if there:
            holder[key] = value
    if not input_set:
        return _call(loaded, model, input_set)
    try:
        with in_time(ON_DRAWN_VALUES):
            return _call(loaded, model, input_set)
    except (Exception, OutOfTimeError) as exc:  # noqa: BLE001 - whatever a model may raise is an answer
        return [("raises", type(exc).__name__)]


def _call(loaded: Loaded, model: Any, input_set: int) -> Leaves:
    args, kwargs = inputs_of(loaded, input_set)
    seed(0)
    return snapshot(model(*args, **kwargs))
