"""Find what makes Dynamo compile a model again and again, and what ends it.

That a first other size or number compiles once more is Dynamo's way of finding out that it changes, and told nobody:
what counts is what still compiles again when it has changed several times.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.compilation.compile_record import (
    CompileRecord,
    Recompilation,
    Specialization,
    own_options,
)
from exportlint.trial.child.compilation.input_changes import (
    AGAIN,
    GRADIENTS,
    NUMBER,
    OTHER_INPUTS,
    SIZE,
    TRAINING,
    Change,
)
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.execution.writing_lines import writing_lines
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import dynamo, pytree
from exportlint.trial.protocol.frames import innermost_user
from exportlint.trial.protocol.torch_messages import (
    attribute_of_guard,
    global_of_guard,
    is_about_size_or_number,
    is_source_of_guard,
    kept_tensor_of_guard,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.torch_messages import FailedGuard


@dataclass(frozen=True)
class Recurring:
    """A guard that fails each time that something changes.

    guard       the one that failed last
    times       in how many of the `calls` behind the first something was compiled again
    over_limit  Dynamo gave the function up
    mends       what was tried: "how", what it is about, and whether it "helped"
    """

    change: Mapping[str, Any]
    guard: FailedGuard
    times: int
    calls: int
    over_limit: bool
    mends: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class _Series:
    """Calls of one compiled model.

    compiled  of each call behind the first, what was compiled again: the function, and the guard that failed
    outputs   of each call
    breaks    how often the graph broke
    raised    what ended the series
    is_whole  were all calls made? Not where the time was over
    """

    compiled: list[dict[str, FailedGuard]]
    outputs: list[Leaves]
    over_limit: frozenset[str]
    breaks: int
    raised: BaseException | None = None
    is_whole: bool = True


def _no_edit(_model: Any) -> None:
    pass


def _as_it_is(inputs: Inputs) -> Inputs:
    return inputs


@dataclass(frozen=True)
class Mend:
    """Something that may end it: edit the model before it is compiled, give inputs otherwise, compile with options, or
    inside of a block. `told` is what a report says of it."""

    told: Mapping[str, Any] = field(default_factory=dict)
    edit: Callable[[Any], None] = _no_edit
    given: Callable[[Inputs], Inputs] = _as_it_is
    options: Mapping[str, Any] | None = None
    around: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext

    def after(self, other: Mend) -> Mend:
        """Both, the other one first."""

        def edit(model: Any) -> None:
            other.edit(model)
            self.edit(model)

        @contextlib.contextmanager
        def around() -> Iterator[None]:
            with other.around(), self.around():
                yield

        options = {**(other.options or {}), **(self.options or {})}
        return Mend(self.told, edit, lambda inputs: self.given(other.given(inputs)), options, around)


NOTHING = Mend()


@dataclass(frozen=True)
class Recurrences:
    """What one change of the inputs showed.

    found   each guard once
    ended   by which everything found was ended; None where something was not
    raised  what the compiled model raised, which eager did not
    is_whole  were there calls enough to see it? Not where the time was over
    """

    found: tuple[Recurring, ...] = ()
    ended: Mend | None = NOTHING
    raised: BaseException | None = None
    is_whole: bool = True


def recurring(loaded: Loaded, change: Change, seconds: float, before: Mend = NOTHING) -> Recurrences:
    """What compiles again in each step of a change. `seconds` is how long the search may go on; `before` ends what
    compiles again whatever changes, so that it does not hide the rest."""
    began = time.monotonic()
    series = _run(loaded, change, before, change.steps + 1, began + seconds)
    if series.raised is not None:
        return Recurrences(raised=series.raised)
    if not series.is_whole:
        return Recurrences(is_whole=False)
    pace, longer = (time.monotonic() - began) / (change.steps + 1), dynamo.recompile_limit() + 2
    if change.kind == AGAIN and not _found(change, series) and any(series.compiled[1:]) and pace * longer < seconds:
        change = replace(change, steps=longer - 1)  # a schedule that changes something every few calls
        series = _run(loaded, change, before, longer)
    if series.raised is not None or not _found(change, series):
        return Recurrences()
    to_limit = series
    if change.kind != OTHER_INPUTS and change.steps + 1 < longer and pace * longer < seconds:
        run = _run(loaded, change, before, longer)
        to_limit = run if run.raised is None else series
    if change.kind in (TRAINING, GRADIENTS) and not (any(to_limit.compiled[-2:]) or to_limit.over_limit):
        return Recurrences()  # a state that meets each mode in a few kinds has a graph for each, and no more
    search = _Search(loaded, change, before, began + seconds)
    causes = list(search.causes(series))
    ended = search.so_far if search.nothing_left else None
    helping = search.needed() if ended else ()
    told: list[Recurring] = []
    for cause in causes:
        mends = tuple({**mend.told, "helped": mend in helping, "with_others": len(helping) > 1} for mend in cause.tried)
        seen = to_limit if cause.shown_by is series else cause.shown_by
        times, over = sum(cause.function in step for step in seen.compiled), cause.function in seen.over_limit
        guard = _where_it_is_written(loaded, change, cause.guard)
        told.append(Recurring(change.to_dict(), guard, times, len(seen.compiled), over, mends))
    return Recurrences(tuple(told), ended)


def _run(loaded: Loaded, change: Change, mend: Mend, calls: int, until: float = math.inf) -> _Series:
    record = CompileRecord()
    model = loaded.model()
    compiled_again: list[dict[str, FailedGuard]] = []
    outputs: list[Leaves] = []
    raised = None
    with mend.around(), record.watching():
        mend.edit(model)
        options = {**own_options(loaded.call_options), **(mend.options or {})}
        compiled = record.compiled(model, **options)
        for call in range(calls):
            if time.monotonic() > until:
                break
            before, specialized = len(record.recompilations), len(record.specializations)
            args, kwargs = mend.given(change.at(call))
            seed(call)
            try:
                with change.around(model, call):
                    outputs.append(snapshot(compiled(*args, **kwargs)))
            except Exception as exc:  # noqa: BLE001 - whatever a model or torch may raise is the answer
                raised = exc
                break
            if call:
                new = record.recompilations[before:]
                made = record.specializations[specialized:]
                compiled_again.append({one.function: _at_its_line(one, made) for one in new if one.guards})
    over = frozenset(one.function for one in record.recompilations if one.over_limit)
    is_whole = raised is not None or len(outputs) == calls
    return _Series(compiled_again, outputs, over, len(record.breaks), raised, is_whole)


def _at_its_line(one: Recompilation, made: Sequence[Specialization]) -> FailedGuard:
    """The guard that failed. Where torch names no line, a size stands where the code makes a constant of it, as the new
    compilation shows, and anything else at the function."""
    guard = one.guards[0]
    if innermost_user(guard.frames) is not None:
        return guard
    placed = [here for here in made if innermost_user(here.frames)]
    own = [here.frames for here in placed if _is_of(here, guard)]
    # Two sizes that are equal to each other become constants together, at the line that made one of the other.
    together = [here.frames for here in placed] if any(_is_of(here, guard) for here in made) else []
    return guard._replace(frames=next(iter([*own, *together]), one.place))


def _is_of(made: Specialization, guard: FailedGuard) -> bool:
    return is_source_of_guard(made.source, guard.guard)


def _where_it_is_written(loaded: Loaded, change: Change, guard: FailedGuard) -> FailedGuard:
    """A guard on a tensor that the model keeps, at the line that changes it: torch names none for tensors."""
    name = kept_tensor_of_guard(guard.guard)
    if change.kind != AGAIN or name is None:
        return guard
    model = loaded.eager()

    def kept() -> list[Any]:
        values = [getattr(module, name, None) for module in model.modules()]
        return [(one, getattr(one, "requires_grad", None)) for one in values]

    if not isinstance(model, torch.nn.Module):
        return guard

    def calls() -> None:
        for call in range(change.steps + 1):  # what changes every few calls changes in one of them
            args, kwargs = change.at(call)
            model(*args, **kwargs)

    found = writing_lines(calls, {name: kept})
    return guard._replace(frames=(found[name],)) if name in found else guard


# A single one late may be the last that there is: a kind of value that comes by seldom.
_OFTEN_LATE = 2


def _found(change: Change, series: _Series) -> dict[str, FailedGuard]:
    """The functions that are compiled twice in the later half of the steps, or in all steps but one: values that were
    compiled for may come again. Of the target's own other inputs, what they compile again for, where no other value of
    that kind would do: a word, the keys of a dict, a dtype; sizes and numbers have series of their own."""
    if change.kind == OTHER_INPUTS:
        return _found_for_others(change, series)
    late = series.compiled[len(series.compiled) // 2 :]
    each = {function: guard for step in series.compiled for function, guard in step.items()}
    often = {function for function in each if sum(function in step for step in series.compiled) >= change.steps - 1}
    return {
        function: guard
        for function, guard in each.items()
        if function in often or sum(function in step for step in late) >= _OFTEN_LATE
    }


_SYMBOL_AFTER = 2  # other values, at the latest


def _found_for_others(change: Change, series: _Series) -> dict[str, FailedGuard]:
    """Of one other set, what is compiled again for it. Of several, what is so for one set after the other: twice for
    words and kinds of tensors; oftener, and at last still, for sizes and numbers, since the first other one makes a
    symbol, and the second may make one of what is computed with it."""
    own = change.own_inputs
    needed = min(own - 1, 2)
    sizes = any(_sizes(change, 0) != _sizes(change, call) for call in range(1, own))
    words: dict[str, list[FailedGuard]] = {}
    symbols: dict[str, list[FailedGuard]] = {}
    for step in series.compiled[: own - 1]:
        for function, guard in step.items():
            kind = symbols if is_about_size_or_number(guard.guard, strides=sizes) else words
            kind.setdefault(function, []).append(guard)
    often = {name: guards[-1] for name, guards in words.items() if _most_often(guards) >= needed}
    at_last = {function for step in series.compiled[: own - 1][-2:] for function in step}
    still = {name: guards[-1] for name, guards in symbols.items() if name in at_last and len(guards) > _SYMBOL_AFTER}
    return still | often


def _most_often(guards: Sequence[FailedGuard]) -> int:
    return max(Counter(guard.subject for guard in guards).values())


def _sizes(change: Change, call: int) -> list[torch.Size]:
    return [leaf.shape for leaf in pytree.tree_leaves(change.at(call)) if isinstance(leaf, torch.Tensor)]


# Try what may end it.


@dataclass(frozen=True)
class _Cause:
    """A guard that fails each time, the series that showed it, and the mends that were tried."""

    function: str
    guard: FailedGuard
    shown_by: _Series
    tried: tuple[Mend, ...] = ()


@dataclass
class _Search:
    """Looks for causes and what ends them, one on top of another: Dynamo names only the first guard that fails, so a
    second cause is seen where the first one is mended.

    so_far   the mends that ended their guard
    """

    loaded: Loaded
    change: Change
    so_far: Mend
    until: float
    nothing_left: bool = False
    _before: Mend = NOTHING
    _breaks: int = 0
    _taken: list[Mend] = field(default_factory=list)
    _eager_gives: list[Leaves] | None = None

    def causes(self, series: _Series) -> Iterator[_Cause]:
        """Each guard once; those that only a mended model showed where those mends ended all, or at lines of their own:
        a mend may change no more than the words of a guard."""
        self._before, self._breaks = self.so_far, series.breaks
        first, known, lines = series, set[object](), set[object]()
        revealed: list[_Cause] = []
        while pending := [one for one in _found(self.change, series).items() if one[1].subject not in known]:
            function, guard = pending[0]
            known.add(guard.subject)
            shown_by = series
            tried, series = self._mended(guard, series)
            cause = _Cause(function, guard, shown_by, tried)
            if shown_by is first or guard.at not in lines:
                yield cause
            else:
                revealed.append(cause)
            lines.add(guard.at)
        self.nothing_left = not _found(self.change, series)
        yield from revealed if self.nothing_left else ()

    def needed(self) -> tuple[Mend, ...]:
        """Of the mends that ended their guards, those without which something compiles again."""
        for mend in self._taken if len(self._taken) > 1 else ():
            others = [one for one in self._taken if one is not mend]
            without = self._before
            for one in others:
                without = one.after(without)
            if time.monotonic() < self.until and self._helps(self._run(without)):
                self._taken = others
        return tuple(self._taken)

    def _mended(self, guard: FailedGuard, series: _Series) -> tuple[tuple[Mend, ...], _Series]:
        """What was tried until the guard did not fail any more, and the series after that; `series` where it does."""
        tried: list[Mend] = []
        for mend in _mends(self.change, guard):
            if time.monotonic() > self.until:
                break
            tried.append(mend)
            run = self._run(mend.after(self.so_far))
            if self._is_as_before(run) and guard.subject not in (
                one.subject for one in _found(self.change, run).values()
            ):
                self.so_far = mend.after(self.so_far)
                self._taken.append(mend)
                return tuple(tried), run
        return tuple(tried), series

    def _run(self, mend: Mend) -> _Series:
        return _run(self.loaded, self.change, mend, self.change.steps + 1)

    def _helps(self, run: _Series) -> bool:
        return self._is_as_before(run) and not _found(self.change, run)

    def _is_as_before(self, run: _Series) -> bool:
        """The graph broke no more often, and every call gave what eager gives."""
        if run.raised is not None or run.breaks > self._breaks:
            return False
        if self._eager_gives is None:
            self._eager_gives = _eager(self.loaded, self.change)
        return not any(map(_differ, self._eager_gives, run.outputs))


def _differ(ours: Leaves, theirs: Leaves) -> bool:
    return compare(ours, theirs) is not None


def _eager(loaded: Loaded, change: Change) -> list[Leaves]:
    model, outputs = loaded.eager(), []
    for call in range(change.steps + 1):
        args, kwargs = change.at(call)
        seed(call)
        with change.around(model, call):
            outputs.append(snapshot(model(*args, **kwargs)))
    return outputs


def _mends(change: Change, guard: FailedGuard) -> Iterator[Mend]:
    if change.kind == SIZE:
        yield Mend({"how": "dynamic"}, options={"dynamic": True})
    if change.kind == NUMBER:
        yield Mend({"how": "tensor", "name": change.names[0]}, given=lambda inputs: _as_tensors(inputs, change.leaves))
        yield Mend({"how": "dynamic"}, options={"dynamic": True})
    if change.kind == AGAIN and (name := attribute_of_guard(guard.guard)):
        yield Mend({"how": "buffer", "name": name}, edit=lambda model: _into_buffers(model, name))
        yield Mend({"how": "attribute", "name": name}, edit=lambda model: _into_tensors(model, name))
    if change.kind == AGAIN and (variable := global_of_guard(guard.guard)) and guard.at:
        path = guard.at[0]
        yield Mend({"how": "attribute", "name": variable}, around=lambda: _global_as_tensor(path, variable))
        yield Mend(
            {"how": "setting", "setting": _UNSPECIALIZED},
            around=lambda: dynamo.with_settings(**{_UNSPECIALIZED: True}),
        )


_UNSPECIALIZED = "allow_unspec_int_on_nn_module"


def _as_tensors(inputs: Inputs, leaves: tuple[int, ...]) -> Inputs:
    flat, structure = pytree.tree_flatten(inputs)
    for index in leaves:
        flat[index] = torch.tensor(flat[index])
    found: Inputs = pytree.tree_unflatten(flat, structure)
    return found


def _into_buffers(model: Any, name: str) -> None:
    """Every plain number of that name becomes a buffer of its module."""
    for module in model.modules() if isinstance(model, torch.nn.Module) else ():
        value = vars(module).get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            delattr(module, name)
            module.register_buffer(name, torch.tensor(value))


def _into_tensors(model: Any, name: str) -> None:
    """Every plain number of that name becomes a tensor, in the objects that are no modules and that modules hold."""
    for module in model.modules() if isinstance(model, torch.nn.Module) else ():
        for held in vars(module).values():
            value = getattr(held, "__dict__", {}).get(name)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                with contextlib.suppress(AttributeError, TypeError):  # an object that is not to be changed
                    setattr(held, name, torch.tensor(value))


@contextlib.contextmanager
def _global_as_tensor(path: str, name: str) -> Iterator[None]:
    """A plain number of the file is a tensor inside of the block."""
    modules = [module for module in list(sys.modules.values()) if getattr(module, "__file__", None) == path]
    kept = [(vars(module), vars(module).get(name)) for module in modules]
    for names, value in kept:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            names[name] = torch.tensor(value)
    try:
        yield
    finally:
        for names, value in kept:
            if name in names:
                names[name] = value
