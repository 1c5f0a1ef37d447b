"""same-behaviour: does an edited model compute what the unedited one computed? One run keeps, the other compares."""

from __future__ import annotations

import copy
import dis
import inspect
import math
import pickle
import re
import time
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

import torch

from exportlint.trial.child.execution.call_traces import (
    Beside,
    CallTraces,
    Left,
    Otherwise,
    globals_now,
    left_by,
    other_left,
    other_traces,
    recorded_beside,
    traces_of,
)
from exportlint.trial.child.execution.comparison import apart_by, compare
from exportlint.trial.child.execution.inputs.draws import (
    BESIDE_ONE,
    OFTEN,
    OTHER,
    SAMPLE,
    VALUES_IN_TURN,
    ZEROS,
    InputDraw,
    between,
    boundary_draws,
    calls_of,
    draws_around,
    in_turn,
    made,
    scales_of_draws,
    single_draws,
    training_draws,
    usual_draws,
    wider_draws,
)
from exportlint.trial.child.execution.inputs.given_draws import generators, given_draws
from exportlint.trial.child.execution.inputs.numbers_as_tensors import (
    Numbers,
    as_numbers,
    in_tensors,
    numbers_of,
    with_numbers,
)
from exportlint.trial.child.execution.inputs.other_settings import OtherSetting, is_gone, settings, with_setting
from exportlint.trial.child.execution.inputs.pytree_leaves import PLAIN, Leaves, leaves, snapshot
from exportlint.trial.child.execution.inputs.selected_sides import selected_sides
from exportlint.trial.child.execution.inputs.taken_sides import (
    asks_for_numbers,
    one_sided,
    sides_taken,
    two_sided,
    undecided,
)
from exportlint.trial.child.execution.inputs.wider_draws import changes_rank, parts_sizes
from exportlint.trial.child.execution.left_out import left_out, without
from exportlint.trial.child.execution.memory_limit import memory_limited
from exportlint.trial.child.execution.plain_operators import plain_operators
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.execution.side_effects import recorded_effects
from exportlint.trial.child.execution.time_limit import OutOfTimeError, in_time
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.module_wrapper import Wrapped
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.server.process_control import exit_if_forked_copy
from exportlint.trial.child.soundness.call_gradients import first_difference, gradients
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractContextManager
    from types import TracebackType

    from exportlint.trial.child.execution.executed_lines import Lines
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.execution.inputs.other_settings import Read
    from exportlint.trial.child.execution.inputs.taken_sides import Side
    from exportlint.trial.child.loading.loaded import Loaded

    Around = Callable[[], AbstractContextManager[Any]]

_Made = TypeVar("_Made")
FIRST_SEED = 100
_CALLS = 3  # so that what one call leaves behind shows in the next, and what two leave, too
# Seconds for a call on values that were made up: a loop that converges on the sample may not end on them. Of the sample
# there is none but the trial's own, and what is slow on the sample gets as much time again on the others.
_PATIENCE = 2.0
_TIMES_THE_SAMPLE = 10
_OF_GRADIENTS = (SAMPLE, OTHER, ZEROS)
_FURTHER_GRADIENTS = ("the sample, negated", "draw 1 of other values")
# Of inputs far from the sample: seconds to look which ones a model takes, seconds of a call, bytes more than it has.
_LOOKING_WIDER, _WIDE_PATIENCE, _MORE_MEMORY = 0.5, 0.5, 1 << 30
# Seconds in which inputs are looked for that take the other sides of branches, or as long as the usual draws took.
_LOOKING = 2.0
_HALVINGS = 8
_DEEP = 3  # so far down into an attribute that holds others
_BUFFER = "buffer "
_COPIED = "the model can be copied"
_ONE_IS_ONE = "a size of 1 was repeated to fit the sample's, the only one that it took, and is a size as others now"
_OUTPUT = "the output "
_COMPARED_IN_EVAL_MODE = "it was in training mode: compared with the unedited model in eval mode"


@dataclass(frozen=True)
class EagerCall:
    """What a call gave, its arguments as it left them, and which tensors of both require gradients.

    said           what it printed and logged
    numbers        those that it was given as arguments
    gives_tensors  does the caller give tensors now for some that were numbers in the call that this stands beside?
    traces         what it gave and left besides values, where that was asked for
    """

    output: Leaves
    inputs: Leaves
    with_gradients: frozenset[str]
    said: str = ""
    numbers: Numbers = field(default_factory=dict)
    gives_tensors: bool = False
    traces: CallTraces = field(default_factory=CallTraces)


@dataclass(frozen=True)
class Raised:
    """A call that raised. `on_purpose`: by a `raise` or an `assert` of the model's own files; `by_distribution`: by the
    checks of a distribution of torch's, of values for which it has none; `lacks_layer`: a list or a dict of layers has
    none there; `text`: the first line of what it said, which two runs may word otherwise; `at`: the file and line."""

    error_class: str
    on_purpose: bool
    by_distribution: bool = False
    lacks_layer: bool = False
    text: str = field(default="", compare=False)
    at: tuple[str, int] = field(default=("", 0), compare=False)


@dataclass(frozen=True)
class Behaviour:
    """What calls in a row did, on one fresh model.

    draw     what it was called with
    setting  what of the model was another than in the sample
    calls    of each call what it gave, or raised
    later    the outputs once more, after all of them: what a call gave must not change with the next one
    buffers  after all of them, and parameters
    parameters  their names
    says_otherwise  with each run: the numbers of what it prints and logs are not compared
    held     after all of them, public attributes, which other code may read
    keys     of the state that a checkpoint holds by then
    left     what they leave as it was in most models: whether it can be copied, and torch's global settings
    second   what another model gives after it
    gradients  of one call more, by the name of parameters and inputs
    is_apart  each model ran in a process of its own, for one goes on with what another left outside of itself
    is_wrapped  it is no module, and a module of ours calls it: what it holds has names that nobody else knows
    seconds  that a call took
    others   what else the calls left behind, where that was asked for
    """

    draw: InputDraw
    calls: tuple[EagerCall | Raised, ...]
    later: tuple[Leaves, ...]
    buffers: dict[str, Leaves]
    held: dict[str, Leaves]
    keys: frozenset[str]
    left: dict[str, bool | str]
    setting: OtherSetting | None = None
    second: EagerCall | Raised | None = None
    gradients: dict[str, torch.Tensor] = field(default_factory=dict)
    seconds: float = 0.0
    is_apart: bool = False
    is_wrapped: bool = False
    parameters: frozenset[str] = frozenset()
    says_otherwise: bool = False
    others: Left = field(default_factory=Left)

    @property
    def in_words(self) -> str:
        return f"{self.draw.in_words}, with {self.setting.in_words}" if self.setting else self.draw.in_words


def run(request: StageRequest) -> StageAnswer:
    """`file` in the options holds the behaviour of the unedited model; with `keep`, it is written there. With `read`
    (a class and an attribute, or "" and an argument, and words), it is what it does under other settings of these.

    `selections` names the file of another model's behaviour: with what is kept, the sides are told that selections in
    data take on its draws, and on those of the other.

    With `thorough`, inputs far from the sample are tried, too, and what is no value is compared. With `turned`, the
    models have changed places: what was kept is of the edited one, which may take more inputs.

    `caveats` in the data of an answer: what is not as before. Of what concerns the sample, only `unsafe` allows it.
    """
    if request.options.get("keep"):
        return _kept(request)
    if not Path(request.options["file"]).exists():
        return StageAnswer(SKIPPED, "nothing was kept of the unedited one, whose calls did not end within the limits")
    request = on_the_same_sample(request)
    loaded, kept = request.loaded, kept_behaviours(request)
    unsafe = bool(request.options.get("unsafe"))
    if any(one.setting for one in kept):
        return _judged(list(_other_settings(loaded, kept)), unsafe=unsafe)
    caveats = []
    told = [_COMPARED_IN_EVAL_MODE] if kept and _is_put_in_eval_mode(request) else []
    beside = _beside(request, kept, nullcontext)
    if isinstance(beside, Observation):
        known = ((one, _beside(request, kept, partial(given_draws, one))) for one in generators())
        same = next(((one, pairs) for one, pairs in known if not isinstance(pairs, Observation)), None)
        if same is not None:
            caveats.append(f"it draws other numbers, and computes the same from the same numbers ({same[0].name})")
            beside = same[1]
        elif gone := parts_left_out(request, kept):
            names = " and no ".join(f"`{one.lstrip('.')}`" for one in gone)
            caveats.append(f"its output has no {names} any more")
            beside = _beside(request, [without_parts(one, gone) for one in kept], nullcontext, gone)
    if isinstance(beside, Observation):
        request.emit(beside)
        return StageAnswer(DIFFERS, _in_words(beside.details))
    if any(isinstance(call, EagerCall) and call.gives_tensors for _, now in beside for call in now.calls):
        caveats.append("its callers give tensors now for what were numbers, words or None")
    turned = bool(request.options.get("turned"))
    in_order = [(now, before) for before, now in beside] if turned else beside
    converted = list(_converted(in_order))
    caveats += (*_other_gradients(beside), *_in_checkpoints(beside), *_elsewhere(beside, converted))
    caveats += (*_other_statistics(loaded, beside), *_under_other_names(beside))
    caveats += (*_said_otherwise(beside), *_held_otherwise(beside))
    repeated = _repeated_to_fit(loaded, kept)
    told += [_ONE_IS_ONE for before, now in beside if before.draw in repeated and _first_difference(before, now)][:1]
    beyond = _beyond_values(in_order, others_drawn=bool(caveats)) if _is_thorough(request) else Otherwise()
    sizes = list(_sizes_refused(beside)) if not turned else []
    unproved = [*beyond.unproved, *(sizes if _is_thorough(request) else ())]
    told += [*beyond.told, *(() if _is_thorough(request) else sizes), *_forms_refused(beside)]
    told += [f"`{name}` is a buffer now, and is converted with the model: {draw.in_words}" for draw, name in converted][
        :1
    ]
    answer = _judged([*caveats, *beyond.differs], [*told, *_harmless(beside), *_alone(beside)], unsafe=unsafe)
    return replace(answer, data={**answer.data, "classes": _classes(loaded.eager()), "unproved": unproved})


def _beyond_values(pairs: Sequence[tuple[Behaviour, Behaviour]], *, others_drawn: bool) -> Otherwise:
    """What differs besides what is compared of every rewrite; each thing once, with the first input that shows it."""
    found: dict[str, tuple[Otherwise, str]] = {}
    for before, now in pairs:
        gained = [_numbers_apart(before, now), _other_gradients_further(before, now)]
        calls = [
            _of_calls_beside(ours, theirs, others_drawn=others_drawn)
            for ours, theirs in zip(before.calls, now.calls, strict=True)
        ]
        # Where other values are no reason to reject an edit, neither is what is beside them; it is told all the same.
        gained += [Otherwise(told=one.told) for one in calls] if before.draw.is_told else calls
        gained += [other_left(before.others, now.others)] if not (_refuses(before) or _refuses(now)) else []
        for one in gained:
            for kind in ("differs", "told", "unproved"):
                for text in getattr(one, kind):
                    found.setdefault(text, (Otherwise(**{kind: (f"{text} ({before.in_words})",)}), kind))
    return Otherwise(
        tuple(text for one, _ in found.values() for text in one.differs),
        tuple(text for one, _ in found.values() for text in one.told),
        tuple(text for one, _ in found.values() for text in one.unproved),
    )


def _of_calls_beside(ours: EagerCall | Raised, theirs: EagerCall | Raised, *, others_drawn: bool) -> Otherwise:
    if isinstance(ours, Raised) and isinstance(theirs, Raised):
        same = ours.error_class == theirs.error_class or not ours.on_purpose
        return (
            Otherwise()
            if same
            else Otherwise(told=(f"it raises {theirs.error_class} where it raised {ours.error_class}",))
        )
    if isinstance(ours, Raised) or isinstance(theirs, Raised):
        return Otherwise()
    return other_traces(ours.traces, theirs.traces, others_drawn=others_drawn)


def _numbers_apart(before: Behaviour, now: Behaviour) -> Otherwise:
    """In double precision there is no rounding to speak of, so what is small beside 1 is compared as closely."""
    if before.draw.dtype is not torch.float64 or not before.draw.is_given:
        return Otherwise()
    for ours, theirs in zip(before.calls, now.calls, strict=True):
        if isinstance(ours, EagerCall) and isinstance(theirs, EagerCall):
            gap = apart_by(ours.output, theirs.output, _largest(ours.inputs))
            if gap is not None:
                return Otherwise(differs=(f"the output differs by {gap:.3g}, more than rounding does",))
    return Otherwise()


def _largest(inputs: Leaves) -> float:
    tensors = [held for _, held in inputs if isinstance(held, torch.Tensor) and held.dtype.is_floating_point]
    finite = [one[torch.isfinite(one)] for one in tensors]
    return max((float(one.abs().max()) for one in finite if one.numel()), default=1.0)


def _other_gradients_further(before: Behaviour, now: Behaviour) -> Otherwise:
    """Those of inputs that only a thorough comparison asks for."""
    if before.draw.how not in _FURTHER_GRADIENTS or before.draw.in_training or before.draw.dtype:
        return Otherwise()
    found = first_difference(before.gradients, now.gradients)
    return Otherwise(differs=(f"it has other gradients: {found.in_words}",)) if found else Otherwise()


def parts_left_out(request: StageRequest, kept: Sequence[Behaviour]) -> tuple[str, ...]:
    """The paths of what the edited model leaves out of its output on the sample, where all else is as it was."""
    before = next((one.calls[0] for one in kept if one.draw == InputDraw(SAMPLE)), None)
    now = _apart(request, partial(_behaviour, request.loaded, InputDraw(SAMPLE))).calls[0]
    if isinstance(before, EagerCall) and isinstance(now, EagerCall):
        return left_out(before.output, now.output)
    return ()


def without_parts(one: Behaviour, gone: Sequence[str]) -> Behaviour:
    """Its outputs without these parts."""

    def rest(call: EagerCall | Raised) -> EagerCall | Raised:
        if isinstance(call, Raised):
            return call
        others = dict(without([(one.removeprefix(_OUTPUT), None) for one in call.with_gradients], gone))
        with_gradients = frozenset(one for one in call.with_gradients if one.removeprefix(_OUTPUT) in others)
        return replace(call, output=without(call.output, gone), with_gradients=with_gradients)

    later = tuple(without(each, gone) for each in one.later)
    second = rest(one.second) if one.second is not None else None
    return replace(one, calls=tuple(map(rest, one.calls)), later=later, second=second)


def _classes(model: Any) -> list[str]:
    """The names of those that the model is made of; of a function its own."""
    parts = model.modules() if isinstance(model, torch.nn.Module) else [model]
    classes = {cls for part in parts for cls in (type(part).__mro__ if not isinstance(part, FunctionType) else [part])}
    return sorted(cls.__qualname__ for cls in classes)


def _judged(caveats: Sequence[str], harmless: Iterable[str] = (), *, unsafe: bool) -> StageAnswer:
    if caveats and not unsafe:
        return StageAnswer(DIFFERS, f"{caveats[0]}: --unsafe takes it")
    return StageAnswer(PASSED, data={"caveats": [*caveats, *harmless]})


def _kept(request: StageRequest) -> StageAnswer:
    file, data = request.options["file"], _kept_as_given(request, request.options["file"])
    if _is_in_training(request.loaded):
        _kept_as_given(replace(request, loaded=_in_eval_mode(request.loaded)), _of_eval_mode(file))
    with suppress(Exception):  # inputs of any class
        _sample_of(file).write_bytes(pickle.dumps(made(request.loaded, InputDraw(SAMPLE))))
    return StageAnswer(PASSED, data=data)


def _is_in_training(loaded: Loaded) -> bool:
    model = loaded.eager()
    return isinstance(model, torch.nn.Module) and any(part.training for part in model.modules())


def _in_eval_mode(loaded: Loaded) -> Loaded:
    return replace(loaded, model=lambda: loaded.model().eval(), reference=lambda: loaded.eager().eval())


def _of_eval_mode(file: str) -> str:
    return f"{file}.eval"


def _kept_as_given(request: StageRequest, file: str) -> dict[str, Any]:
    loaded, data = request.loaded, dict[str, Any]()
    if read := request.options.get("read"):
        kept = list(_under_settings(loaded, read))
    else:
        row = _in_a_row(request)
        thorough = _is_thorough(request)
        run = partial(_behaviour, loaded, InputDraw(SAMPLE), thorough=thorough)
        # A count that goes on from model to model says the same where each runs apart; a clock does not.
        says = row.says_otherwise and any(_said_otherwise([(_apart(request, run), _apart(request, run))]))
        apart = _apart if row.leaves_something or (row.says_otherwise and not says) else _here
        sample = (_apart if thorough else apart)(request, run)
        limit = _limit(sample)
        numbers = request.options.get("numbers", ())
        search = partial(_draws_and_sides, loaded, limit, numbers, thorough=thorough)
        draws, taken, lines = apart(request, search)
        others = (draw for draw in draws if draw != sample.draw)
        tried = [
            sample,
            *(apart(request, partial(_behaviour, loaded, draw, limit=limit, thorough=thorough)) for draw in others),
        ]
        tried = [replace(one, is_apart=apart is _apart, says_otherwise=says) for one in tried]
        told = [one for one in tried if not _takes_too_long(one)]
        kept = [one for one in told if one.draw in _usual() or not _refuses(one) or _is_on_purpose(one)]
        data = {"one_sided": one_sided(taken), "two_sided": two_sided(taken)}
        data["run"] = {path: sorted(own) for path, own in lines.items()}
        varied = [one for one in kept if not thorough or _is_varied(loaded, one.draw)]
        data["tried"] = [f"{one.in_words}, once" if one.draw.is_wide else one.in_words for one in varied]
        data["calls"] = _CALLS
        data["never_varied"] = _never_varied(loaded, kept) if thorough else []
        calls = [call for one in kept for call in one.calls if isinstance(call, Raised) and call.on_purpose]
        data["checked"] = sorted({call.at for call in calls})
        if beside := request.options.get("selections"):
            other_draws = [one.draw for one in _read(beside)] if Path(beside).exists() else []
            every = dict.fromkeys([*(one.draw for one in kept), *other_draws])
            data["selected"] = _apart(request, partial(_selected, loaded, list(every), limit))
    exit_if_forked_copy()
    Path(file).write_bytes(pickle.dumps(kept))
    return data


def _is_thorough(request: StageRequest) -> bool:
    return bool(request.options.get("thorough"))


def _selected(loaded: Loaded, draws: Sequence[InputDraw], limit: float) -> list[tuple[str, int, bool, bool]]:
    with memory_limited(_MORE_MEMORY):
        return selected_sides(loaded, (made(loaded, one) for one in draws), limit)


def _is_varied(loaded: Loaded, draw: InputDraw) -> bool:
    """Is it anything else than the sample once more?"""
    if draw == InputDraw(SAMPLE) or draw.how == OFTEN or draw.is_wide or draw.dtype or draw.in_training:
        return True
    sample = snapshot(made(loaded, InputDraw(SAMPLE)))
    return any(compare(sample, snapshot(made(loaded, one)), exact=True) for one in in_turn(draw, _CALLS))


def _never_varied(loaded: Loaded, kept: Sequence[Behaviour]) -> list[str]:
    """The tensors of the sample that had the same values in every input which the model took, by argument and dtype."""
    sample = _tensors_by_name(loaded, InputDraw(SAMPLE))
    left = {name: held for name, held in sample.items() if isinstance(held, torch.Tensor) and held.numel()}
    for one in kept:
        if not (_refuses(one) or one.draw.on_meta or one.draw.dtype):
            now = _tensors_by_name(loaded, one.draw)
            left = {
                name: held
                for name, held in left.items()
                if not compare([("", held)], [("", now.get(name))], exact=True)
            }
    return [f"`{name}` ({str(held.dtype).removeprefix('torch.')})" for name, held in left.items()]


def _tensors_by_name(loaded: Loaded, draw: InputDraw) -> dict[str, Any]:
    """By the name of the argument, and the path inside of it."""
    args, kwargs = made(loaded, draw)
    model = loaded.eager()
    try:
        given = inspect.signature(getattr(model, "forward", model)).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):
        given = {**{f"argument {number}": one for number, one in enumerate(args, 1)}, **kwargs}
    return {f"{name}{path}": held for name, value in given.items() for path, held in snapshot(value)}


def _sample_of(file: str) -> Path:
    return Path(f"{file}.sample")


def on_the_same_sample(request: StageRequest) -> StageRequest:
    """With the inputs of the unedited source, where only their sizes were edited: a sample of one, say, of which torch
    makes a constant. The models are compared on what both take."""
    file = _sample_of(request.options["file"])
    if not file.exists():
        return request
    args, kwargs = pickle.loads(file.read_bytes())  # noqa: S301 - our own fork wrote it
    before, now = ((args, kwargs), made(request.loaded, InputDraw(SAMPLE)))
    if _forms(before) == _forms(now) or [dtype for _, dtype in _forms(before)] != [dtype for _, dtype in _forms(now)]:
        return request
    loaded = replace(request.loaded, args=lambda: copied(args), kwargs=lambda: copied(kwargs))
    return replace(request, loaded=loaded)


def _forms(inputs: Inputs) -> list[tuple[object, ...]]:
    tensors = (leaf for leaf in pytree.tree_leaves(inputs) if isinstance(leaf, torch.Tensor))
    return [(tuple(one.shape), one.dtype) for one in tensors]


@dataclass(frozen=True)
class _InARow:
    """What fresh models do with the same sample, one after the other.

    leaves_something  does one go on with what another one left outside of itself, in a global say?
    says_otherwise    does each print or log other words, the time that it took say?
    """

    leaves_something: bool
    says_otherwise: bool


def _in_a_row(request: StageRequest) -> _InARow:
    def run() -> _InARow:
        first, second = (_behaviour(request.loaded, InputDraw(SAMPLE)) for _ in range(2))
        # What goes round after so many calls shows after one more.
        _call(request.loaded.eager(), made(request.loaded, InputDraw(SAMPLE)), FIRST_SEED, nullcontext, [], None, {})
        third = _behaviour(request.loaded, InputDraw(SAMPLE))
        leaves = any(_first_difference(first, one) is not None for one in (second, third))
        return _InARow(leaves, any(any(_said_otherwise([(first, one)])) for one in (second, third)))

    return _apart(request, run)


def _here(request: StageRequest, function: Callable[[], _Made]) -> _Made:
    del request
    return function()


def _apart(request: StageRequest, function: Callable[[], _Made]) -> _Made:
    """In a process of its own, which begins as this one is."""
    result = in_fork(function, Path(request.options["file"]).parent)
    if not result.ok:
        return function()
    made: _Made = result.value
    return made


def _usual() -> frozenset[InputDraw]:
    return frozenset(usual_draws())


def kept_behaviours(request: StageRequest) -> list[Behaviour]:
    """Of the unedited model, as a run with `keep` wrote it; in eval mode, where the edit put the model into that."""
    file = request.options["file"]
    file = _of_eval_mode(file) if _is_put_in_eval_mode(request) else file
    return _read(file)


def _read(file: str) -> list[Behaviour]:
    kept: list[Behaviour] = pickle.loads(Path(file).read_bytes())  # noqa: S301 - our own fork wrote it
    return kept


def _is_put_in_eval_mode(request: StageRequest) -> bool:
    """Was the unedited model given in training mode, and is no part of the edited one in that any more?"""
    return Path(_of_eval_mode(request.options["file"])).exists() and not _is_in_training(request.loaded)


def _under_settings(loaded: Loaded, read: Sequence[Read]) -> Iterator[Behaviour]:
    """Of those with which the model runs."""
    end = time.monotonic() + _LOOKING
    for setting in settings(loaded.eager(), made(loaded, InputDraw(SAMPLE)), read):
        for draw in (InputDraw(SAMPLE), InputDraw(OTHER)):
            if time.monotonic() > end:
                return
            now = _behaviour(loaded, draw, setting=setting, limit=_PATIENCE)
            if not _refuses(now):
                yield now


def _beside(
    request: StageRequest, kept: Sequence[Behaviour], around: Around, gone: Sequence[str] = ()
) -> list[tuple[Behaviour, Behaviour]] | Observation:
    """What the edited model does beside each behaviour that was kept, or the first difference; `around` is entered for
    each call of the edited model. `gone`: parts of its output that are not looked at."""
    loaded, pairs = request.loaded, list[tuple[Behaviour, Behaviour]]()
    thorough = _is_thorough(request)
    repeated = _repeated_to_fit(loaded, kept)
    for unedited in kept:
        limit = _limit(pairs[0][1]) if pairs else None
        apart = _apart if unedited.is_apart or (thorough and not pairs) else _here
        run = partial(_behaviour, loaded, unedited.draw, around, limit=limit, beside=unedited, thorough=thorough)
        now = apart(request, run)
        exit_if_forked_copy()
        now = without_parts(now, gone) if gone else now
        if request.options.get("turned") and unedited.draw.is_wide and _refuses(now) and not _is_on_purpose(now):
            continue
        before = _named_as(unedited, now) if unedited.is_wrapped and not now.is_wrapped else unedited
        if request.options.get("turned") and before.left[_COPIED]:
            # An edit may make a model one that can be copied; that it is one still, is seen the other way round.
            before = replace(before, left={**before.left, _COPIED: now.left[_COPIED]})
        pairs.append((before, now))
        if before.draw.is_told or before.draw in repeated or _takes_other_sizes_no_more(before, now):
            continue  # which is told beside the rewrite
        if (seen := _first_difference(before, now)) is not None and not _statistics(loaded, before, now):
            return seen
    refused = {before.draw.other_size for before, now in pairs if _takes_other_sizes_no_more(before, now)}
    for before, now in pairs:  # what takes another size is not made for the sample's alone
        if before.draw.other_size in refused and not _refuses(now):
            raising = (_first_difference(*pair) for pair in pairs if _takes_other_sizes_no_more(*pair))
            return next(filter(None, raising))
    return pairs


def _repeated_to_fit(loaded: Loaded, kept: Sequence[Behaviour]) -> list[InputDraw]:
    """Of a model whose sizes are declared dynamic, the draws with a size of 1 where it takes no other size than the
    sample's: the one row was repeated for what was made for the sample's rows, and is one row after an edit that
    makes it for what is given."""
    if loaded.dynamic_shapes() is None:
        return []
    taken = {one.draw.how for one in kept if not _refuses(one)}
    return [one.draw for one in kept if taken.isdisjoint(BESIDE_ONE.get(one.draw.how, taken))]


def _named_as(before: Behaviour, now: Behaviour) -> Behaviour:
    """With the names that the edited model, which is a module, has for what ours held; a method has no checkpoints."""

    def renamed(values: Mapping[str, _Made]) -> dict[str, _Made]:
        found = {one: value for one, value in values.items() if one.startswith("input ")}
        for name, value in values.items():
            alike = [one for one in now.buffers if one.endswith("." + name.partition(".")[2])]
            found |= {alike[0]: value} if len(alike) == 1 else {}
        return found

    return replace(before, keys=now.keys, buffers=renamed(before.buffers), gradients=renamed(before.gradients))


def _other_settings(loaded: Loaded, kept: Sequence[Behaviour]) -> Iterator[str]:
    """The first one under which the edited model computes something else, from the same numbers too."""
    for before in kept:
        if before.setting and is_gone(loaded.eager(), made(loaded, before.draw), before.setting):
            continue
        ways: list[Around] = [nullcontext, *(partial(given_draws, one) for one in generators())]
        if before.setting and all(_differs(loaded, before, around) for around in ways):
            yield f"it is right for this configuration only, and computes something else with {before.setting.in_words}"
            return


def _differs(loaded: Loaded, before: Behaviour, around: Around) -> bool:
    now = _behaviour(loaded, before.draw, around, setting=before.setting, limit=_PATIENCE, beside=before)
    exit_if_forked_copy()
    # A number of layers that is changed alone is no configuration: the constructor makes as many layers.
    if any(isinstance(call, Raised) and call.lacks_layer for call in now.calls):
        return False
    return _first_difference(before, now) is not None


def _other_gradients(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    """The first one, on inputs that are the target's or like them: zeros are where many a function has a kink."""
    for before, now in pairs:
        if before.draw.how in (SAMPLE, OTHER) and not before.draw.in_training:
            for ours, theirs in zip(before.calls, now.calls, strict=True):
                if isinstance(ours, Raised) or isinstance(theirs, Raised):
                    break
                if other := sorted(ours.with_gradients ^ theirs.with_gradients):
                    what = "no longer requires" if other[0] in ours.with_gradients else "now requires"
                    yield f"it has other gradients: {other[0]} {what} them"
                    return
            if found := first_difference(before.gradients, now.gradients):
                yield f"it has other gradients: on {before.in_words}, {found.in_words}"
                return


def _harmless(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    """What is not as it was, and is to be told: the sample and what is like it are not concerned."""
    for before, now in pairs:
        if before.draw.how == ZEROS:
            found = first_difference(before.gradients, now.gradients)
            if found and found.is_nan:
                yield f"on zeros, {found.in_words}"
    unchecked = (before.in_words for before, now in pairs if any(map(_checks_no_more, before.calls, now.calls)))
    if (words := next(unchecked, None)) is not None:
        yield f"on {words}, a distribution refused its arguments, and gives a result now"


def _sizes_refused(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    pairs = [one for one in pairs if not any(is_such(one[0].draw) for _, is_such in _FORMS)]
    refused = [before.draw.in_words for before, now in pairs if _takes_other_sizes_no_more(before, now)]
    takes_some = any(before.draw.other_size and not _refuses(now) for before, now in pairs)
    if refused:
        what = (
            "does not take all sizes that it took" if takes_some else "takes the sample's sizes only, and took others"
        )
        yield f"it {what} before ({refused[0]})"


# What a model may refuse after an edit, where somebody is told: in words, and is a draw such?
_FORMS: tuple[tuple[str, Callable[[InputDraw], bool]], ...] = (
    ("numbers of dims", lambda draw: changes_rank(draw.how)),
    ("sizes, where these are equal in the sample,", lambda draw: parts_sizes(draw.how)),
    ("negative integers", lambda draw: draw.counts_from_the_end),
)


def _forms_refused(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    """How many dims a tensor has, a program knows when it is exported, and takes no others. Two sizes that are equal in
    the sample, of lengths and of what they are the lengths of, are hardly meant to differ; where they are declared to
    be free, the export says that they are not. An index from the end was taken by chance, if the sample has none."""
    for what, is_such in _FORMS:
        refused = (one for one, now in pairs if is_such(one.draw) and _takes_other_sizes_no_more(one, now))
        if (first := next(refused, None)) is not None:
            yield f"it does not take all {what} that it took before ({first.draw.in_words})"


def _takes_other_sizes_no_more(before: Behaviour, now: Behaviour) -> bool:
    return bool(before.draw.other_size) and _refuses(now) and not _refuses(before)


def _elsewhere(
    pairs: Sequence[tuple[Behaviour, Behaviour]], converted: Sequence[tuple[InputDraw, str]]
) -> Iterator[str]:
    """The first difference in other precisions, or of what is no number, for which few models are made. `converted`:
    draws for which somebody made a buffer of an attribute."""
    known = [draw for draw, _ in converted]
    for before, now in pairs:
        if before.draw.is_told and before.draw not in known and (seen := _first_difference(before, now)):
            yield f"it computes something else on {_in_words(seen.details)}"
            return


def _converted(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[tuple[InputDraw, str]]:
    """The draws in other precisions that differ where a tensor that was a plain attribute is a buffer now, and goes
    with the model to these: it is what a buffer is for."""
    for before, now in pairs:
        names = [name for name in before.held if name not in before.buffers and name in now.buffers]
        if before.draw.dtype is not None and names and _first_difference(before, now) is not None:
            yield before.draw, names[0]


def _statistics(loaded: Loaded, before: Behaviour, now: Behaviour) -> list[str]:
    """The buffers that differ, where they are all that differs, and all are what normalizations of torch's own learned
    in training, of a model that is given in eval mode: a side that was not taken is computed now, and learns. The
    exported program has nothing of it."""
    differences = [str(one.details["part"]) for one in _buffer_differences(before, now)]
    first = _first_difference(before, now)
    if not before.draw.in_training or first is None or str(first.details.get("part")) not in differences:
        return []
    model = loaded.eager()
    modules = dict(model.named_modules()) if isinstance(model, torch.nn.Module) else {}
    names = [part.removeprefix(_BUFFER) for part in differences]
    return names if all(isinstance(modules.get(name.rpartition(".")[0]), _KEEP_STATISTICS) for name in names) else []


_KEEP_STATISTICS = (
    *(torch.nn.BatchNorm1d, torch.nn.BatchNorm2d, torch.nn.BatchNorm3d, torch.nn.SyncBatchNorm),
    *(torch.nn.InstanceNorm1d, torch.nn.InstanceNorm2d, torch.nn.InstanceNorm3d),
)


def _other_statistics(loaded: Loaded, pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    for before, now in pairs:
        if names := _statistics(loaded, before, now):
            yield f"in training it learns other statistics ({names[0]})"
            return


def _said_otherwise(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    for before, now in pairs:
        for number, (ours, theirs) in enumerate(zip(before.calls, now.calls, strict=True), 1):
            if isinstance(ours, Raised) or isinstance(theirs, Raised):
                break
            if not _same_text(ours.said, theirs.said, numbers=not before.says_otherwise):
                yield f"it prints something else on {before.in_words}, call {number}"
                return


_NUMBER = re.compile(r"(-?\d+(?:\.\d*)?(?:e[-+]?\d+)?)")
_OF_AUTOGRAD = re.compile(r", (grad_fn=<\w*>|requires_grad=True)")


def _same_text(ours: str, theirs: str, *, numbers: bool) -> bool:
    """But for the last digits of numbers (without `numbers`: for all of them), and what autograd calls an operation."""
    mine, others = (_NUMBER.split(_OF_AUTOGRAD.sub("", text)) for text in (ours, theirs))
    pairs = zip(mine[1::2], others[1::2], strict=False)
    close = all(math.isclose(float(a), float(b), rel_tol=1e-3, abs_tol=1e-3) for a, b in pairs)
    return mine[::2] == others[::2] and (close or not numbers)


def _held_otherwise(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    """Of attributes that are attributes still: what a rewrite makes a buffer of is said where it does that."""
    for before, now in pairs:
        if before.draw.is_told or _refuses(before) or _refuses(now):
            continue
        for name, ours in before.held.items():
            if name in now.held and (found := compare(ours, now.held[name])):
                yield f"`{name}` of the model holds something else after {before.in_words}{_how_much(found.fields())}"
                return


def _alone(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    for before, now in pairs:
        ours, theirs = before.second, now.second
        if isinstance(ours, EagerCall) and isinstance(theirs, EagerCall) and compare(ours.output, theirs.output):
            yield "each model keeps its own state, where the next one went on with what another left"


def is_told_of(loaded: Loaded, before: Behaviour) -> bool:
    """Does the edited model compute something else there in eager, of which somebody is told beside the rewrite?"""
    return before.draw.is_told and _first_difference(before, _behaviour(loaded, before.draw, beside=before)) is not None


def _in_checkpoints(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    for before, now in pairs[:1]:
        for keys, how in ((now.keys - before.keys, "has a new key"), (before.keys - now.keys, "has no more the key")):
            if keys:
                yield f"`state_dict()` {how}, `{min(keys)}`: checkpoints of the unedited model do not load as they did"


def _limit(sample: Behaviour) -> float:
    """Seconds for a call on other values than the sample's."""
    return max(_PATIENCE, _TIMES_THE_SAMPLE * sample.seconds)


def _draws_and_sides(
    loaded: Loaded, limit: float, numbers: Sequence[float] = (), *, thorough: bool = False
) -> tuple[list[InputDraw], set[Side], Lines]:
    """What to try: what everybody gets, and of the further ones those that take sides of branches which no other one
    takes; all the sides that are taken, and all the lines that run."""
    began = time.monotonic()
    search = _SideSearch(loaded, limit)
    for draw in (*usual_draws(), *boundary_draws(loaded), *training_draws(loaded, always=thorough)):
        search.sides(draw)
        search.draws[draw] = True
    for ways in ([draws_around(loaded, numbers)] if numbers else []) + ([wider_draws(loaded)] if thorough else []):
        for draw in _wider(loaded, ways, time.monotonic() + max(_LOOKING_WIDER, (time.monotonic() - began) / 5)):
            with memory_limited(_MORE_MEMORY):
                search.sides(draw)
            search.draws[draw] = True
    search.end = time.monotonic() + max(_LOOKING, time.monotonic() - began)
    for draw in single_draws(not_numbers=asks_for_numbers(search.taken)):
        search.sides(draw)
    for scale in scales_of_draws():
        for first, second in pairwise(scale):
            search.look_between(first, second)
    return [draw for draw, matters in search.draws.items() if matters], search.taken, search.lines


def _wider(loaded: Loaded, ways: Iterable[Sequence[InputDraw]], end: float) -> Iterator[InputDraw]:
    """Of the inputs far from the sample those that the model takes, or refuses by a check of its own."""
    for way in ways:
        for draw in way:
            if time.monotonic() > end:
                return
            try:
                given = copied(made(loaded, draw))
            except (RuntimeError, ValueError, TypeError, IndexError):
                break  # no tensor can be changed so
            began = time.monotonic()
            call = _call(_fresh(loaded, draw), given, FIRST_SEED, _in_memory, [], _WIDE_PATIENCE, {})
            if calls_of(draw, 1) * (time.monotonic() - began) > _LOOKING:
                break
            if not isinstance(call, Raised) or call.on_purpose:
                yield draw
            if isinstance(call, Raised):
                break


@contextmanager
def _in_memory(around: Around = nullcontext) -> Iterator[None]:
    with memory_limited(_MORE_MEMORY), around():
        yield


@dataclass
class _SideSearch:
    """Inputs that take sides of branches which others do not. `draws`: each that was tried, and whether it did."""

    loaded: Loaded
    limit: float
    draws: dict[InputDraw, bool] = field(default_factory=dict)
    taken: set[Side] = field(default_factory=set)
    lines: Lines = field(default_factory=dict)
    end: float = math.inf
    known: dict[InputDraw, frozenset[Side]] = field(default_factory=dict)

    def sides(self, draw: InputDraw) -> frozenset[Side]:
        """That this one takes; none where it is not worth a call any more."""
        if draw not in self.known and self._goes_on():
            limit = min(self.limit, max(self.end - time.monotonic(), 0.1))
            self.known[draw] = sides = frozenset(sides_taken(self.loaded, made(self.loaded, draw), limit, self.lines))
            self.draws[draw] = not sides <= self.taken
            self.taken |= sides
        return self.known.get(draw, frozenset())

    def look_between(self, first: InputDraw, second: InputDraw) -> None:
        """Where two take other sides, the ones in between may take yet others: a condition turns there."""
        below = self.sides(first)
        differ = below != self.sides(second)
        for _ in range(_HALVINGS if differ else 0):
            middle = between(first, second)
            first, second = (middle, second) if self.sides(middle) == below else (first, middle)

    def _goes_on(self) -> bool:
        return not self.taken or self.end == math.inf or (undecided(self.taken) and time.monotonic() < self.end)


def _refuses(one: Behaviour) -> bool:
    """Does the model raise? Of inputs that nobody gave it, that says no more than that it is not made for them."""
    return any(isinstance(call, Raised) for call in one.calls)


def _is_on_purpose(one: Behaviour) -> bool:
    """Does it raise first what the model's author wrote? Such a check is to be kept."""
    first = next((call for call in one.calls if isinstance(call, Raised)), None)
    return first is not None and first.on_purpose


def _behaviour(
    loaded: Loaded,
    draw: InputDraw,
    around: Around = nullcontext,
    setting: OtherSetting | None = None,
    limit: float | None = None,
    beside: Behaviour | None = None,
    *,
    thorough: bool = False,
) -> Behaviour:
    """Where every call raises, that of a model whose branches and loops are plain Python: torch's operators refuse in
    eager what they refuse to export."""
    first = _of_calls(loaded, draw, around, setting, limit, beside, thorough=thorough)
    if _takes_too_long(first) or not all(isinstance(call, Raised) for call in first.calls):
        return first
    with plain_operators():
        again = _of_calls(loaded, draw, around, setting, limit, beside, thorough=thorough)
    return first if any(isinstance(call, Raised) for call in again.calls) else again


def _takes_too_long(one: Behaviour) -> bool:
    return any(map(_is_out_of_time, one.calls))


def _is_out_of_time(call: EagerCall | Raised) -> bool:
    return isinstance(call, Raised) and call.error_class == OutOfTimeError.__name__


def _of_calls(
    loaded: Loaded,
    draw: InputDraw,
    around: Around,
    setting: OtherSetting | None,
    limit: float | None,
    beside: Behaviour | None,
    *,
    thorough: bool,
) -> Behaviour:
    """Inputs are made when the model is there, right before the call that gets them, as in any script: what makes them
    may set what the model reads, a variable of the environment say."""

    fresh = partial(_fresh, loaded, draw)
    around = partial(_in_memory, around) if draw.is_wide else around
    asks = calls_of(draw, _CALLS)
    outside = globals_now() if thorough and draw == InputDraw(SAMPLE) else None
    model, calls, outputs = fresh(), list[EagerCall | Raised](), list[Any]()
    inputs = made(loaded, draw)
    began = time.monotonic()
    for number, one in enumerate(in_turn(draw, asks)):
        inputs = made(loaded, one)
        if setting and (not number or not setting.owner):  # what the model holds is set once
            model, inputs = with_setting(model, inputs, setting) or (model, inputs)
        given = beside.calls[number] if beside else None
        numbers = given.numbers if isinstance(given, EagerCall) else {}
        inputs = with_numbers(inputs, numbers, given_by_callers(loaded, one), of_sample_size=not one.other_size)
        calls.append(
            _call(model, copied(inputs), FIRST_SEED + number, around, outputs, limit, numbers, thorough=thorough)
        )
        if _is_out_of_time(calls[-1]):
            calls += calls[-1:] * (asks - len(calls))
            break
    seconds = (time.monotonic() - began) / asks
    later = tuple(map(snapshot, outputs)) if draw.how == VALUES_IN_TURN else ()
    left = _left(model)
    others = left_by(model, outside) if thorough and not draw.is_wide else Left()
    named = [*getattr(model, "named_buffers", list)(), *getattr(model, "named_parameters", list)()]
    buffers = {name: snapshot(value) for name, value in named}
    held = _held(model)
    is_sample = draw == InputDraw(SAMPLE)
    second = _call(fresh(), made(loaded, draw), FIRST_SEED, around, [], limit, {}) if is_sample else None
    keys = frozenset(model.state_dict()) if isinstance(model, torch.nn.Module) else frozenset[str]()
    ended = not any(map(_is_out_of_time, calls))
    of_gradients = (*_OF_GRADIENTS, *_FURTHER_GRADIENTS) if thorough else _OF_GRADIENTS
    has_gradients = (
        ended and draw.how in of_gradients and not (draw.in_training or draw.dtype or draw.on_meta or setting)
    )
    found = gradients(fresh, inputs, FIRST_SEED, around) if has_gradients else {}
    ours = isinstance(model, Wrapped)
    parameters = frozenset(name for name, _ in getattr(model, "named_parameters", list)())
    return Behaviour(
        draw, tuple(calls), later, buffers, held, keys, left, setting, second, found, seconds,
        is_wrapped=ours, parameters=parameters, others=others,
    )  # fmt: skip


def _fresh(loaded: Loaded, draw: InputDraw) -> Any:
    """A model as the draw asks for it."""
    model = loaded.eager()
    if draw.dtype is not None and isinstance(model, torch.nn.Module) and any(True for _ in model.parameters()):
        model.to(draw.dtype)
    if draw.on_meta and isinstance(model, torch.nn.Module):
        model.to("meta")
    if draw.in_training:
        model.train()
    return model


def given_by_callers(loaded: Loaded, draw: InputDraw) -> Callable[[], Inputs]:
    """What callers give in the place of words and None: their own inputs, or where the draw makes other ones those of
    the sample."""
    return lambda: made(loaded, draw if draw.how == OTHER else InputDraw(SAMPLE))


def _held(model: Any) -> dict[str, Leaves]:
    parts = model.named_modules() if isinstance(model, torch.nn.Module) else ()
    return {
        f"{prefix}.{name}".lstrip("."): snapshot(value, _DEEP)
        for prefix, part in parts
        for name, value in vars(part).items()
        if not name.startswith("_") and isinstance(value, (torch.Tensor, list, tuple, dict, *PLAIN))
    }


def _left(model: Any) -> dict[str, bool | str]:
    try:
        copy.deepcopy(model)
        is_copied = True
    except Exception:  # noqa: BLE001 - any class of the target may refuse, in any way
        is_copied = False
    return {
        _COPIED: is_copied,
        "gradients are recorded": torch.is_grad_enabled(),
        "the default dtype": str(torch.get_default_dtype()),
        "algorithms are deterministic": torch.are_deterministic_algorithms_enabled(),
        "the precision of matmuls": torch.get_float32_matmul_precision(),
        "the number of threads": str(torch.get_num_threads()),
        "inference mode": torch.is_inference_mode_enabled(),
        "anomalies are looked for": torch.is_anomaly_enabled(),
    }


def _call(
    model: Any,
    inputs: Inputs,
    number: int,
    around: Around,
    outputs: list[Any],
    limit: float | None,
    numbers: Numbers,
    *,
    thorough: bool = False,
) -> EagerCall | Raised:
    """Adds what it gave to `outputs`. `numbers`: those that the call which this stands beside was given."""
    args, kwargs = inputs
    seed(number)
    beside_it, traces = recorded_beside() if thorough else nullcontext(Beside()), CallTraces()
    limited = in_time(limit) if limit else nullcontext()
    with recorded_effects() as effects, around(), beside_it as beside, limited:
        try:
            output = model(*args, **kwargs)
            traces = traces_of(model, inputs, output, beside) if thorough else traces
            output = _used_up(output)
            given = snapshot(output)
        except BaseException as exc:  # noqa: BLE001 - SystemExit is an answer too
            where = _module_that_raises(exc)
            in_distribution = isinstance(exc, ValueError) and where.startswith("torch.distributions.")
            lacks_layer = isinstance(exc, LookupError) and where == torch.nn.modules.container.__name__
            said, at = short(str(exc)), _line_that_raises(exc)
            return Raised(type(exc).__name__, _raises_on_purpose(exc), in_distribution, lacks_layer, said, at)
    outputs.append(output)
    kinds = (("the output", output), ("the input", inputs))
    grad = {
        f"{kind} {path}".strip()
        for kind, value in kinds
        for path, leaf in leaves(value)
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad
    }
    left = snapshot(as_numbers(inputs, numbers))
    said = "\n".join([effects.printed.getvalue(), *effects.log])
    return EagerCall(given, left, frozenset(grad), said, numbers_of(inputs), in_tensors(inputs, numbers), traces)


def _raises_on_purpose(exc: BaseException) -> bool:
    *_, (frame, place) = [(each.tb_frame, each.tb_lasti) for each in _steps(exc.__traceback__)]
    code = frame.f_code
    is_own = is_user_path(code.co_filename) and not is_installed(code.co_filename)
    return is_own and code.co_code[place] == dis.opmap["RAISE_VARARGS"]


def _line_that_raises(exc: BaseException) -> tuple[str, int]:
    *_, last = _steps(exc.__traceback__)
    return last.tb_frame.f_code.co_filename, last.tb_lineno


def _module_that_raises(exc: BaseException) -> str:
    *_, last = _steps(exc.__traceback__)
    return str(last.tb_frame.f_globals.get("__name__"))


def _steps(traceback: TracebackType | None) -> Iterator[TracebackType]:
    while traceback is not None:
        yield traceback
        traceback = traceback.tb_next


def _used_up(output: Any) -> Any:
    """An iterator, which is no result of a program, as the list that takes its place."""
    lazy = isinstance(output, Iterator | KeysView | ValuesView | ItemsView)
    return list(output) if lazy else output


def _first_difference(before: Behaviour, now: Behaviour) -> Observation | None:
    for number, (ours, theirs) in enumerate(zip(before.calls, now.calls, strict=True), 1):
        where = {"inputs": before.in_words, "call": number}
        if isinstance(ours, Raised) and isinstance(theirs, Raised):
            break  # a check that a program keeps raises a RuntimeError, whatever class the Python one had
        if _checks_no_more(ours, theirs):
            break  # which is told beside the rewrite
        if isinstance(ours, Raised) or isinstance(theirs, Raised):
            return _observed({**where, "what": "raised", "ours": _how(ours), "theirs": _how(theirs)})
        for part, mine, other in (("output", ours.output, theirs.output), ("input", ours.inputs, theirs.inputs)):
            if found := compare(mine, other):
                return _observed({**where, "part": part, **found.fields()})
    for number, (kept, given) in enumerate(zip(before.later, now.later, strict=False), 1):
        if found := compare(kept, given):
            part = f"output of call {number}, after the calls that follow it,"
            return _observed({"inputs": before.in_words, "part": part, **found.fields()})
    for what, ours_left in before.left.items():
        if ours_left != now.left[what] and not (what == _COPIED and now.left[what]):
            how = {"what": "value", "ours": str(ours_left), "theirs": str(now.left[what])}
            return _observed({"inputs": before.in_words, "part": f"state left behind ({what})", **how})
    return next(_buffer_differences(before, now), None)


def _buffer_differences(before: Behaviour, now: Behaviour) -> Iterator[Observation]:
    """Of those that both have: a rewrite may make a buffer of what was an attribute. Parameters that changed places are
    told beside the rewrite."""
    moved = _moved(before, now)
    for name, ours in before.buffers.items():
        if name in now.buffers and name not in moved and (found := compare(ours, now.buffers[name])):
            yield _observed({"inputs": before.in_words, "part": f"{_BUFFER}{name}", **found.fields()})


def _moved(before: Behaviour, now: Behaviour) -> list[str]:
    """The parameters that the calls left under other names than the edited model's, where no value is lost by that: of
    a list of layers that a call turned round, say."""
    both = [name for name in before.buffers if name in now.buffers and name in before.parameters & now.parameters]
    moved = [name for name in both if compare(before.buffers[name], now.buffers[name])]
    left = list(moved)
    for name in moved:
        place = next((one for one in left if not compare(before.buffers[name], now.buffers[one])), None)
        if place is None:
            return []
        left.remove(place)
    return moved


def _under_other_names(pairs: Sequence[tuple[Behaviour, Behaviour]]) -> Iterator[str]:
    for before, now in pairs:
        if moved := _moved(before, now):
            yield f"`state_dict()` after calls holds the values of `{moved[0]}` and others under other names"
            return


def _checks_no_more(ours: EagerCall | Raised, theirs: EagerCall | Raised) -> bool:
    return isinstance(ours, Raised) and ours.by_distribution and isinstance(theirs, EagerCall)


def _in_words(details: Mapping[str, Any]) -> str:
    """In one line: which call, and what of it."""
    call = f"{details['inputs']}, call {details['call']}" if "call" in details else f"{details['inputs']}, all calls"
    if details.get("what") == "raised":
        return f"{call}: it gave {details['ours']}, and gives {details['theirs']} now"
    return f"{call}: the {details.get('part', 'output')} differs{_how_much(details)}"


def _how_much(details: Mapping[str, Any]) -> str:
    ours, theirs = details.get("ours"), details.get("theirs")
    return f" ({ours} before, {theirs} now)" if ours and theirs else ""


def _how(call: EagerCall | Raised) -> str:
    if isinstance(call, Raised):
        return f"{call.error_class} ({call.text})" if call.text else call.error_class
    return "a result"


def _observed(details: dict[str, Any]) -> Observation:
    return Observation("difference", details={"check": "same-behaviour", **details})
