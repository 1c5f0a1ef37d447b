"""agreement: the compiled model gives what eager gives, in every way in which two calls can differ."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.compilation.compile_record import own_options
from exportlint.trial.child.compilation.input_changes import MOST_OTHERS
from exportlint.trial.child.execution.call_record import RunRecord, kept_records, plan_of_calls, record_calls
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.call_gradients import first_difference, gradients
from exportlint.trial.child.soundness.compiled_differences import beside_compiled
from exportlint.trial.child.soundness.differences import differences, in_results, is_unsteady
from exportlint.trial.child.torch_private import dynamo
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, PASSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.trial.child.loading.loaded import Loaded

# Functionalization and decompositions as every compiler of torch.compile has them, and no code of a compiler's own,
# which rounds otherwise; that is compared where its time is measured.
_BACKEND = "aot_eager"
_SEVERAL = 2  # the calls of every trial take the sample and the first of the others


def run(request: StageRequest) -> StageAnswer:
    """Calls in a row on the sample and on other values: outputs, what they leave in the model and in the arguments,
    what they print; and gradients."""
    if request.loaded.export or request.loaded.reference:
        return StageAnswer(SKIPPED, "the target brings its own export call")
    found = in_fork(lambda: list(_differences(request)), request.folder)
    if found.ended:
        return StageAnswer(CRASHED, short(found.ended))
    if found.raised:
        request.emit(found.raised)
        return StageAnswer(CRASHED, None)
    eager, again = kept_records(request.folder.parent)
    for seen in found.value:
        request.emit(seen.with_details(beside="compiled"))
    if found.value:
        return StageAnswer(DIFFERS, None)
    unsteady = "eager gives other values in every run, which were not compared" if is_unsteady(eager, again) else ""
    return StageAnswer(PASSED, unsteady)


def _differences(request: StageRequest) -> Iterator[Observation]:
    loaded = request.loaded
    kept, again = kept_records(request.folder.parent)
    # What the model leaves out where torch compiles is its author's wish: both with it and without it are right.
    plan = plan_of_calls(again)
    whole = in_fork(partial(_calls, loaded, loaded.eager, plan), request.folder)
    theirs = in_fork(partial(_calls, loaded, partial(_compiled, request), plan), request.folder)
    if theirs.raised is not None or theirs.ended is not None:
        raised = theirs.raised or Observation("exception", str(theirs.ended))
        yield Observation("difference", raised.text, raised.error_class, details={"check": "raises"}).at(raised.frames)
        return
    seen = list(beside_compiled(kept, whole.value if whole.ok else kept, again, theirs.value))
    yield from seen
    if not is_unsteady(kept, again):
        yield from _on_further_inputs(request) if not seen else ()
        yield from _other_gradients(request)


def _on_further_inputs(request: StageRequest) -> Iterator[Observation]:
    """Where the target has more than one other set of inputs: all of them in a row, so that what was compiled for one
    is asked for the next."""
    loaded = request.loaded
    others = len(loaded.other_args()) if loaded.other_args is not None else 0
    if others < _SEVERAL:
        return
    plan = range(1 + min(others, MOST_OTHERS))
    makers = (loaded.eager, loaded.eager, partial(_compiled, request))
    runs = [in_fork(partial(_calls, loaded, make, plan), request.folder) for make in makers]
    if all(run.ok for run in runs):
        yield from filter(in_results, differences(*(run.value for run in runs)))


def _compiled(request: StageRequest) -> Any:
    dynamo.reset()
    return torch.compile(request.loaded.model(), backend=_BACKEND, **own_options(request.loaded.call_options))


def _calls(loaded: Loaded, make: Callable[[], Any], plan: Sequence[int]) -> RunRecord:
    return record_calls(loaded, make(), plan)


def _other_gradients(request: StageRequest) -> Iterator[Observation]:
    """The first parameter or input whose gradient is another than eager's."""
    inputs = inputs_of(request.loaded, 0)
    makers = (request.loaded.eager, partial(_compiled, request))
    runs = [in_fork(partial(gradients, make, inputs, 0), request.folder) for make in makers]
    if not all(run.ok for run in runs):
        return
    ours, theirs = ({name.removeprefix("_orig_mod."): one for name, one in run.value.items()} for run in runs)
    if ours and not theirs:
        details = {"check": "gradients", "input_set": 0, "raised": "its backward pass raises, or gives none"}
        yield Observation("difference", details=details)
    elif found := first_difference(ours, theirs):
        error = {"what": "values", "max_error": found.max_error, "output": found.name}
        yield Observation("difference", details={"check": "gradients", "input_set": 0, **error})
