"""same-behaviour: does an edited model compute what the unedited one computed? One run keeps, the other compares."""

from __future__ import annotations

import pickle
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.draws import (
    IN_TRAINING,
    drawn_inputs,
    further_inputs,
    training_inputs,
)
from exportlint.trial.child.execution.inputs.given_draws import generators, given_draws
from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.execution.inputs.taken_sides import one_sided, sides_taken, two_sided
from exportlint.trial.child.execution.plain_operators import plain_operators
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.execution.side_effects import recorded_effects
from exportlint.trial.child.loading.drawn_parameters import drawn_parameters, names_of_parameters, with_parameters
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.process_control import exit_if_forked_copy
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager

    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.execution.inputs.taken_sides import Side
    from exportlint.trial.child.loading.drawn_parameters import Parameters
    from exportlint.trial.child.loading.loaded import Loaded

    Around = Callable[[], AbstractContextManager[Any]]

_SEED = 100
_SETS = (drawn_inputs, further_inputs, training_inputs)
_CALLS = 3  # so that what one call leaves behind shows in the next, and what two leave, too


@dataclass(frozen=True)
class Behaviour:
    """What calls in a row did, on one fresh model.

    inputs   what it was called with, in words
    calls    of each call: the outputs, the arguments as it left them; or the class of what it raised
    buffers  after both, and parameters
    drawn    the parameters that random numbers made, of a model whose first call makes some
    """

    inputs: str
    calls: tuple[tuple[Leaves, Leaves] | str, ...]
    buffers: dict[str, Leaves]
    drawn: Parameters


def run(request: StageRequest) -> StageAnswer:
    """`file` in the options holds the behaviour of the unedited model; with `keep`, it is written there."""
    file = Path(request.options["file"])
    if request.options.get("keep"):
        many, taken = _sets_and_sides(request.loaded)
        in_training = list(training_inputs(request.loaded))
        tried = [_behaviour(request.loaded, *one, None) for one in (*many, *in_training)]
        made_up = {text for text, _ in (*further_inputs(request.loaded), *in_training)}
        kept = [one for one in tried if one.inputs not in made_up or not _refuses(one)]
        exit_if_forked_copy()
        file.write_bytes(pickle.dumps(kept))
        return StageAnswer(PASSED, data={"one_sided": one_sided(taken), "two_sided": two_sided(taken)})
    kept = pickle.loads(file.read_bytes())  # noqa: S301 - our own fork wrote it
    seen = _difference(request.loaded, kept, nullcontext)
    if seen is None:
        return StageAnswer(PASSED)
    for one in generators():
        if _difference(request.loaded, kept, partial(given_draws, one)) is None:
            if request.options.get("other_draws"):
                return StageAnswer(PASSED)
            what = "it draws other numbers, and computes the same from the same numbers: --unsafe takes it"
            return StageAnswer(DIFFERS, f"{what} ({one.name})")
    request.emit(seen)
    return StageAnswer(DIFFERS, _in_words(seen.details))


def _difference(loaded: Loaded, kept: Sequence[Behaviour], around: Around) -> Observation | None:
    """The first one; `around` is entered for each call of the edited model."""
    known = {text: inputs for sets in _SETS for text, inputs in sets(loaded)}
    for before in kept:
        now = _behaviour(loaded, before.inputs, known[before.inputs], before.drawn, around)
        exit_if_forked_copy()
        if (seen := _first_difference(before, now)) is not None:
            return seen
    return None


def _sets_and_sides(loaded: Loaded) -> tuple[list[tuple[str, Inputs]], set[Side]]:
    """The sets of inputs, with those of the further ones that take sides of branches which the others do not; all the
    sides that are taken."""
    many = list(drawn_inputs(loaded))
    taken = {side for _, inputs in many for side in sides_taken(loaded, inputs)}
    for text, inputs in further_inputs(loaded):
        sides = sides_taken(loaded, inputs)
        if not sides <= taken:
            many.append((text, inputs))
            taken |= sides
    return many, taken


def _refuses(one: Behaviour) -> bool:
    """Does the model raise? Of inputs that nobody gave it, that says no more than that it is not made for them."""
    return any(isinstance(call, str) for call in one.calls)


def _behaviour(
    loaded: Loaded, text: str, inputs: Inputs, drawn: Parameters | None, around: Around = nullcontext
) -> Behaviour:
    """Where every call raises, that of a model whose branches and loops are plain Python: torch's operators refuse in
    eager what they refuse to export."""
    first = _of_two_calls(loaded, text, inputs, drawn, around)
    if not all(isinstance(call, str) for call in first.calls):
        return first
    with plain_operators():
        again = _of_two_calls(loaded, text, inputs, drawn, around)
    return first if any(isinstance(call, str) for call in again.calls) else again


def _of_two_calls(loaded: Loaded, text: str, inputs: Inputs, drawn: Parameters | None, around: Around) -> Behaviour:
    """`drawn` is what the edited model is given; None for the unedited one, which may have made some in its calls."""
    model = with_parameters(loaded, drawn or {})
    if text.endswith(IN_TRAINING):
        model.train()
    begun = names_of_parameters(model)
    calls = tuple(_call(model, copied(inputs), _SEED + index, around) for index in range(_CALLS))
    named = [*getattr(model, "named_buffers", list)(), *getattr(model, "named_parameters", list)()]
    if drawn is None:
        drawn = {} if names_of_parameters(model) <= begun else drawn_parameters(loaded, inputs, _SEED)
    return Behaviour(text, calls, {name: snapshot(value) for name, value in named}, drawn)


def _call(model: Any, inputs: Inputs, number: int, around: Around) -> tuple[Leaves, Leaves] | str:
    args, kwargs = inputs
    seed(number)
    with recorded_effects(), around():
        try:
            output = snapshot(_used_up(model(*args, **kwargs)))
        except BaseException as exc:  # noqa: BLE001 - SystemExit is an answer too
            return type(exc).__name__
    return output, snapshot(inputs)


def _used_up(output: Any) -> Any:
    """An iterator, which is no result of a program, as the list that takes its place."""
    lazy = isinstance(output, Iterator | KeysView | ValuesView | ItemsView)
    return list(output) if lazy else output


def _first_difference(before: Behaviour, now: Behaviour) -> Observation | None:
    for number, (ours, theirs) in enumerate(zip(before.calls, now.calls, strict=True), 1):
        where = {"inputs": before.inputs, "call": number}
        if isinstance(ours, str) and isinstance(theirs, str):
            break  # a check that a program keeps raises a RuntimeError, whatever class the Python one had
        if isinstance(ours, str) or isinstance(theirs, str):
            return _observed({**where, "what": "raised", "ours": _how(ours), "theirs": _how(theirs)})
        for part, mine, other in (("output", ours[0], theirs[0]), ("input", ours[1], theirs[1])):
            if found := compare(mine, other):
                return _observed({**where, "part": part, **found.fields()})
    return _buffer_difference(before, now)


def _buffer_difference(before: Behaviour, now: Behaviour) -> Observation | None:
    """Of those that both have: a rewrite may make a buffer of what was an attribute."""
    for name, ours in before.buffers.items():
        if name in now.buffers and (found := compare(ours, now.buffers[name])):
            return _observed({"inputs": before.inputs, "part": f"buffer {name}", **found.fields()})
    return None


def _in_words(details: Mapping[str, Any]) -> str:
    """In one line: which call, and what of it."""
    call = f"{details['inputs']}, call {details['call']}" if "call" in details else f"{details['inputs']}, all calls"
    if details.get("what") == "raised":
        return f"{call}: it gave {details['ours']}, and gives {details['theirs']} now"
    return f"{call}: the {details.get('part', 'output')} differs{_how_much(details)}"


def _how_much(details: Mapping[str, Any]) -> str:
    ours, theirs = details.get("ours"), details.get("theirs")
    return f" ({ours} before, {theirs} now)" if ours and theirs else ""


def _how(call: tuple[Leaves, Leaves] | str) -> str:
    return call if isinstance(call, str) else "a result"


def _observed(details: dict[str, Any]) -> Observation:
    return Observation("difference", details={"check": "same-behaviour", **details})
