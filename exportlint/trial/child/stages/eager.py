"""eager: the model runs on its sample. Records the executed lines, and the calls that later stages compare with."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.call_record import INPUTS, RunRecord, record_calls
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.eager_records import keep_records
from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines, whole_functions
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import leaves, snapshot
from exportlint.trial.child.execution.left_out_effects import as_if_exporting, has_effects, without_left_out
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.execution.state import state_reader
from exportlint.trial.child.localize.state_ablation import state_that_changes_outputs
from exportlint.trial.child.localize.state_writes import writing_lines
from exportlint.trial.child.server.forks import ForkResult, in_fork
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, REFUSED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.frames import Frame


def run(request: StageRequest) -> StageAnswer:
    """Two eager runs in two processes: the one records its lines, the other shows whether eager repeats itself."""
    again = in_fork(lambda: _fresh_run(request), request.folder)
    places = in_fork(lambda: _writing_lines(request, again.value), request.folder) if again.ok else again
    around, inside, compiled = (defaultdict[str, set[int]](set) for _ in range(3))
    with recorded_lines(around):
        first = record_calls(request.loaded, request.loaded.eager(), around=partial(recorded_lines, inside, compiled))
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
        request.emit(sample.raised)
        return StageAnswer(REFUSED, None, executed)
    for seen in _notes(first):
        request.emit(seen)
    return StageAnswer(PASSED, "", executed)


def _executed(around: Lines, inside: Lines, compiled: Lines) -> dict[str, Any]:
    """The lines that ran; and those of the project's own that ran inside of the model's calls, or may have: Python does
    not tell which lines of a compiled function run."""
    every = {path: sorted(around.get(path, set()) | inside.get(path, set())) for path in {**around, **inside}}
    own = [path for path in inside if not is_installed(path)]
    called = {path: inside[path] | whole_functions(path, compiled.get(path, set())) for path in own}
    return {"executed": every, "called": {path: sorted(lines) for path, lines in called.items()}}


def _fresh_run(request: StageRequest) -> RunRecord:
    return record_calls(request.loaded, request.loaded.eager())


def _run_as_if_exporting(request: StageRequest) -> RunRecord:
    return record_calls(request.loaded, request.loaded.eager(), around=as_if_exporting)


def _writing_lines(request: StageRequest, seen: RunRecord) -> dict[str, Frame]:
    """The lines that change what the record found changed; "inputs" for writes into the arguments."""
    loaded = request.loaded
    given = [inputs_of(loaded, input_set) for input_set in sorted({call.input_set for call in seen.calls})]
    watched = {INPUTS: lambda: [value for _, value in leaves(given)]} if _inputs_change(loaded, seen) else {}
    if not watched and not seen.changed:
        return {}  # watching looks at everything watched on every line
    model = loaded.eager()
    watched |= {name: state_reader(model, name) for name in seen.changed}
    return writing_lines(lambda: [model(*args, **kwargs) for args, kwargs in given], watched)


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
