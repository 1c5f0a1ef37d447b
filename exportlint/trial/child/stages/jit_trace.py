"""jit-trace: trace the model with torch.jit.trace, as its script did, and run the traced module beside eager on other
values. Where both disagree the trace has kept the way that the sample takes."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.dynamic_shapes.line_divergence import last_shared_line
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import Inputs, inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import warnings_kept
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.probing.probing_inputs import inputs_in_words, probing_inputs
from exportlint.trial.child.probing.value_text import values_beside
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.frames import Frame, frame_at, is_user_path
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, REFUSED, SKIPPED

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Mapping, Sequence

    from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves
    from exportlint.trial.child.loading.loaded import Loaded


def run(request: StageRequest) -> StageAnswer:
    """A difference has "sample" (what both give there), "ours" and "theirs", "how" the "inputs" were made, and the
    "line" at which eager goes another way with them; "raised": by the traced module alone; without "how", both differ
    on the sample itself."""
    loaded, sample = request.loaded, inputs_of(request.loaded, 0)
    with warnings_kept() as warned:
        try:
            traced = _traced(loaded, sample)
        except Exception as exc:  # noqa: BLE001 - torch lets anything through
            request.emit(of_exception(exc))
            return StageAnswer(REFUSED, None)
    both = [
        in_fork(partial(_called, call, sample), request.folder) for call in (loaded.eager(), loaded.eager(), traced)
    ]
    if not all(one.ok for one in both):
        return StageAnswer(SKIPPED, "on the sample not both give something")
    eager, again, ours = (one.value for one in both)
    if compare(eager, again, exact=True):
        return StageAnswer(SKIPPED, "eager gives other values in every run")
    if compare(eager, ours):
        details = {"check": "jit-trace", **values_beside(eager, ours, eager)}
        request.emit(_at_the_call(Observation("difference", details=details), request))
        return StageAnswer(DIFFERS, None)
    return _on_other_values(request, traced, eager, warned)


def _on_other_values(
    request: StageRequest, traced: Any, eager: Leaves, warned: Sequence[warnings.WarningMessage]
) -> StageAnswer:
    """`eager` is what both give on the sample."""
    loaded, tried = request.loaded, 0
    for how, inputs in probing_inputs(inputs_of(loaded, 0)):
        found = in_fork(partial(_beside, loaded, traced, inputs), request.folder).value
        tried += found is not None
        if found:
            request.emit(_difference(request, inputs, {"how": how, **_apart(eager, *found)}, warned))
            return StageAnswer(DIFFERS, None)
    if not tried:
        return StageAnswer(SKIPPED, f"eager refuses other values than the sample's{_doubt(warned)}")
    return StageAnswer(PASSED, f"the traced module agrees with eager on {tried} sets of other values{_doubt(warned)}")


def _traced(loaded: Loaded, sample: Inputs) -> Any:
    args, kwargs = copied(sample)
    seed(0)
    named = {"example_kwarg_inputs": kwargs} if kwargs and not args else {}
    return torch.jit.trace(loaded.eager(), None if named else args, check_trace=False, strict=False, **named)


def _called(model: Callable[..., Any], inputs: Inputs) -> Leaves:
    args, kwargs = copied(inputs)
    seed(0)
    return snapshot(model(*args, **kwargs))


def _beside(loaded: Loaded, traced: Any, inputs: Inputs) -> tuple[()] | tuple[Leaves, Leaves | str]:
    """What eager and the traced module give where they disagree, or what this raises; values that eager refuses raise,
    and are left out."""
    eager = _called(loaded.eager(), inputs)
    try:
        theirs = _called(traced, inputs)
    except Exception as exc:  # noqa: BLE001 - whatever it raises, eager does not
        return eager, of_exception(exc).first_line
    return (eager, theirs) if compare(eager, theirs) else ()


def _apart(sample: Leaves, eager: Leaves, theirs: Leaves | str) -> dict[str, str]:
    return {"raised": theirs} if isinstance(theirs, str) else values_beside(eager, theirs, sample)


def _difference(
    request: StageRequest, inputs: Inputs, fields: Mapping[str, Any], warned: Sequence[warnings.WarningMessage]
) -> Observation:
    parted = _branch(request, inputs)
    branch = parted or _warned_at(warned)
    details = {"check": "jit-trace", "inputs": inputs_in_words(inputs), **fields}
    seen = Observation("difference", details=details)
    if branch:
        seen = seen.at([branch])
    if parted:
        seen = seen.with_details(line=[parted.path, parted.line, parted.text])
    return _at_the_call(seen, request)


def _at_the_call(seen: Observation, request: StageRequest) -> Observation:
    """Where the script traces, which is what a person has to change."""
    target = request.loaded.target
    if target.given_to == "torch.jit.trace" and target.path and target.line:
        path = os.path.abspath(target.path)  # noqa: PTH100 - no links resolved: paths stay as the user wrote them
        seen = replace(seen, user=Frame(path, target.line, "", ""))
    return seen


def _branch(request: StageRequest, inputs: Inputs) -> Frame | None:
    """The last line that eager shares on both inputs."""
    loaded = request.loaded
    runs = (partial(_called, loaded.eager(), one) for one in (inputs_of(loaded, 0), inputs))
    found = in_fork(lambda: last_shared_line(*runs), request.folder).value
    return found[0] if found else None


def _warned_at(warned: Sequence[warnings.WarningMessage]) -> Frame | None:
    """The first line of the model that torch.jit.trace itself doubts."""
    for one in warned:
        if issubclass(one.category, torch.jit.TracerWarning) and is_user_path(one.filename):
            return frame_at(one.filename, one.lineno, "")
    return None


def _doubt(warned: Sequence[warnings.WarningMessage]) -> str:
    place = _warned_at(warned)
    return f"; it warns of line {place.line}, `{place.text}`" if place else ""
