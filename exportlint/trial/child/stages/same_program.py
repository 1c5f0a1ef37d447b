"""same-program: does the program of an edited model compute what the unedited model computed in eager?

Soundness compares a program with its own model on the sample and on other values. What a rewrite makes of a number or
of a decision may be right in eager and be fixed in the program for other inputs: here it runs on all of those that the
court compared the two models on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.draws import SAMPLE, InputDraw, in_turn, made
from exportlint.trial.child.execution.inputs.numbers_as_tensors import with_numbers
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.execution.left_out import without
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.execution.side_effects import recorded_effects
from exportlint.trial.child.export.export_call import from_program
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.stages.same_behaviour import (
    FIRST_SEED,
    Behaviour,
    EagerCall,
    given_by_callers,
    is_told_of,
    kept_behaviours,
    on_the_same_sample,
    parts_left_out,
)
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@from_program
def run(request: StageRequest, _program: Any) -> StageAnswer:
    """`file` in the options holds the behaviour of the unedited model."""
    request = on_the_same_sample(request)
    module = request.exported.module()
    gone = parts_left_out(request, kept_behaviours(request)) if request.options.get("unsafe") else ()
    found = {one.draw: _difference(request, module, one, gone) for one in _comparable(request)}
    if found.get(InputDraw(SAMPLE), ""):
        return StageAnswer(SKIPPED, "it differs on the sample already")
    others = (one for one in _comparable(request) if found[one.draw])
    why = next((found[one.draw] for one in others if not is_told_of(request.loaded, one)), "")
    return StageAnswer(DIFFERS if why else PASSED, why)


def _comparable(request: StageRequest) -> Iterator[Behaviour]:
    """On inputs that a program of the sample takes, and the model, too."""
    for one in kept_behaviours(request):
        is_other_program = one.draw.other_size or one.draw.dtype or one.draw.in_training
        if not is_other_program and all(isinstance(call, EagerCall) for call in one.calls):
            yield one


def _difference(request: StageRequest, module: Any, one: Behaviour, gone: Sequence[str]) -> str:
    """The first one of calls in a row, in words; "" where there is none, or where it raises: that nobody overlooks."""
    held = [*module.named_buffers(), *module.named_parameters()]
    begun = [(tensor, tensor.detach().clone()) for _, tensor in held]
    try:
        for number, (call, draw) in enumerate(zip(one.calls, in_turn(one.draw, len(one.calls)), strict=True)):
            given = made(request.loaded, draw)
            if isinstance(call, EagerCall):
                given = with_numbers(given, call.numbers, given_by_callers(request.loaded, draw))
            args, kwargs = given
            seed(FIRST_SEED + number)
            with recorded_effects():
                output = without(snapshot(module(*args, **kwargs)), gone)
            if isinstance(call, EagerCall) and (found := compare(without(call.output, gone), output)):
                how = f" by {found.max_error:.3g}" if found.max_error is not None else ""
                return f"{one.draw.in_words}, call {number + 1}: the output{found.path} differs{how}"
    except Exception:  # noqa: BLE001 - a check of the program, or of torch
        return ""
    finally:
        with torch.no_grad():
            for tensor, was in begun:
                tensor.detach().copy_(was)
    return ""
