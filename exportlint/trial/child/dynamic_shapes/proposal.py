"""Propose a `dynamic_shapes` that was exported with: free every dim, read the trace, write a declaration, try it."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from exportlint.trial.child.dynamic_shapes.declarations import DimPlace, range_of, within
from exportlint.trial.child.dynamic_shapes.facts import dims_of, facts_of
from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor, input_tensors, tree_of
from exportlint.trial.child.dynamic_shapes.other_sizes import SideBySide, accepts, resized
from exportlint.trial.child.dynamic_shapes.proposal_code import ShapesCode, violated_names, write_shapes
from exportlint.trial.child.dynamic_shapes.shape_decisions import recorded_decisions
from exportlint.trial.child.dynamic_shapes.size_names import declared_as, names
from exportlint.trial.child.dynamic_shapes.symbolic_trace import FROM, SymbolicTrace, read_trace
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.exceptions import of_exception
from exportlint.trial.protocol.outcomes import STRICT
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from types import FrameType

    from exportlint.trial.child.execution.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.size_facts import Fact, ShapesFound


_SECONDS = 30
_FLAT, _SIDE = 3, 16  # a picture has more dims, and no side is shorter
_GROWN = 3  # what a size of 1 is made, to be free


@dataclass(frozen=True)
class Proposed:
    """What could be declared, and the program that was exported with it.

    refusal   torch refused even the proposal, or the export with free dims (then there is no code)
    facts     what the trace found; why no dim can move, where that is so
    """

    code: str | None = None
    program: Any = None
    trace: SymbolicTrace | None = None
    inputs: Inputs = ((), {})
    refusal: Observation | None = None
    facts: tuple[Fact, ...] = ()

    @property
    def found(self) -> ShapesFound:
        """As plain data, for the parent."""
        return {"facts": list(self.facts), "code": self.code or ""}

    def side_by_side(self, eager: Callable[..., Any], *, values: bool) -> SideBySide:
        tensors = [size.tensor for size in self.trace.sizes] if self.trace else []
        once = list({tensor.label: tensor for tensor in tensors}.values())
        return SideBySide(eager, self.program.module(), self.inputs, once, values)


@dataclass(frozen=True)
class _Attempt:
    """Some dims are left free: those of `free`, each with what is declared for it or None."""

    loaded: Loaded
    inputs: Inputs
    mode: str
    free: Mapping[DimPlace, Any]
    remarks: list[Fact] = field(default_factory=list)


def proposed(loaded: Loaded, inputs: Inputs, mode: str, free: Mapping[DimPlace, Any]) -> Proposed:
    """Propose a declaration, and export with it. `free`: the dims that may move, each with its declaration or None.

    Where torch refuses, or does not end in time, fewer dims are tried.
    """
    not_all: list[Fact] = []
    outcome = Proposed()
    for wanted in _dim_choices(free, input_tensors(loaded.model(), inputs)):
        try:
            with _in_time():
                return _proposed(_Attempt(loaded, inputs, mode, wanted, not_all))
        except _OutOfTimeError:
            why: Fact = {"fact": "not-all-tried", "seconds": _SECONDS}
        except BaseException as exc:  # noqa: BLE001 - torch lets anything through
            outcome = Proposed(refusal=of_exception(exc))
            why = {"fact": "not-all-tried", "torch_says": short(str(exc) or type(exc).__name__)}
        not_all = not_all or [why]
    return outcome


def _dim_choices(free: Mapping[DimPlace, Any], tensors: Sequence[InputTensor]) -> Iterator[Mapping[DimPlace, Any]]:
    """The dims to let free, attempt by attempt: all of them, all but the sides of pictures, only the first dims.

    Products of the sides of pictures keep torch's solver busy (seen with windowed attention).
    """
    deep = (tensor for tensor in tensors if tensor.value.dim() > _FLAT)
    pictures = {tensor.label for tensor in deep if min(tensor.value.shape[-2:]) >= _SIDE}
    without = {(label, dim): what for (label, dim), what in free.items() if dim == 0 or label not in pictures}
    first = {(label, dim): what for (label, dim), what in free.items() if dim == 0}
    yield free
    yield from [without] if without not in (free, first) else []
    yield from [first] if first != free else []


def traced(loaded: Loaded, inputs: Inputs, mode: str, free: Collection[DimPlace]) -> SymbolicTrace | None:
    """What an export with just these dims free finds; None where it is refused or comes to no end."""
    model = loaded.model()
    shapes = tree_of(model, inputs, _give(free))
    with recorded_decisions() as decisions:
        try:
            with _in_time():
                _export(loaded, inputs, shapes, mode)
        except BaseException:  # noqa: BLE001 - torch lets anything through
            return None
    return read_trace(decisions, input_tensors(model, inputs, shapes))


class _OutOfTimeError(BaseException):
    """Not an Exception, which torch and models catch on the way."""


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """Many free sizes in one expression can keep torch's solver busy for hours. Seconds of this process's own work."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise _OutOfTimeError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _proposed(attempt: _Attempt) -> Proposed:
    loaded, free = attempt.loaded, attempt.free
    model = loaded.model()
    given, remarks = _without_ones(attempt)
    remarks += attempt.remarks
    shapes = tree_of(model, given, _give(free))
    with recorded_decisions() as decisions:
        program = _export(loaded, given, shapes, attempt.mode)
    trace = read_trace(decisions, input_tensors(model, given, shapes))
    if trace is None or not trace.roots():
        return Proposed(facts=({"fact": "none"}, *(facts_of(trace, {}) if trace else ())))
    declared = {place: what for place, what in free.items() if what is not None}
    _narrow(trace, declared)
    if joined := trace.join_batches(declared):
        remarks.append({"fact": "batches-joined", "dims": dims_of(joined)})
    called = names(trace, {place: declared_as(what) for place, what in declared.items() if hasattr(what, "__name__")})
    least = _ones(loaded, program, trace, given)
    facts = (*facts_of(trace, called, least), *remarks)
    write = partial(write_shapes, trace, partial(tree_of, model, given), called, least)
    return _tried(attempt, write, given, facts)


def _narrow(trace: SymbolicTrace, declared: Mapping[DimPlace, Any]) -> None:
    """What was declared of a dim stays within the range that was declared."""
    for size in trace.sizes:
        what = declared.get(size.place)
        if what is not None and size.form in trace.ranges:
            trace.ranges[size.form] = within(range_of(what), trace.ranges[size.form])


def _give(free: Collection[DimPlace]) -> Callable[[str, torch.Tensor], Any]:
    def give(label: str, tensor: torch.Tensor) -> Any:
        dims = {dim: Dim.AUTO for dim in range(tensor.dim()) if (label, dim) in free}
        return dims or None

    return give


def _export(loaded: Loaded, inputs: Inputs, shapes: Any, mode: str) -> Any:
    torch._dynamo.reset()  # noqa: SLF001 - documented as torch._dynamo.reset
    model = loaded.model()
    args, kwargs = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, inputs)
    seed(0)
    return torch.export.export(model, args, kwargs or None, dynamic_shapes=shapes, strict=mode == STRICT)


def _tried(attempt: _Attempt, write: Callable[..., ShapesCode], inputs: Inputs, facts: tuple[Fact, ...]) -> Proposed:
    """Export with the proposal; a dim that no named Dim can express is declared Dim.DYNAMIC in a second attempt."""
    loaded, written = attempt.loaded, write()
    loose: frozenset[str] = frozenset()
    for last in (False, True):
        with recorded_decisions() as decisions:
            try:
                program = _export(loaded, inputs, written.shapes, attempt.mode)
            except BaseException as exc:  # noqa: BLE001 - torch lets anything through
                refusal = of_exception(exc)
                loose |= violated_names(refusal.text)
                other = write(loose=loose)
                if last or other.code == written.code:
                    return Proposed(other.code, refusal=refusal, facts=facts)
                written = other
                continue
        trace = read_trace(decisions, input_tensors(loaded.model(), inputs, written.shapes))
        return Proposed(written.code, program, trace, inputs, facts=facts)
    raise AssertionError("the loop returns")


def _ones(loaded: Loaded, program: Any, trace: SymbolicTrace, inputs: Inputs) -> dict[Any, int]:
    """The symbols for which 1, which torch does not trace, was tried and is right."""
    tensors = list({size.tensor.label: size.tensor for size in trace.sizes}.values())
    found = {}
    for root in trace.roots():
        if trace.ranges[root][0] <= FROM and all(root not in c.symbols for c in trace.conditions):
            tried = SideBySide(loaded.eager(), program.module(), inputs, tensors).tried(trace, {root: 1})
            if tried is not None and tried.refused is None and not tried.wrong:
                found[root] = 1
    return found


def _without_ones(attempt: _Attempt) -> tuple[Inputs, list[Fact]]:
    """Torch makes a constant of a size of 1. Where eager takes 3 instead, that is exported: first dims together, then
    each dim alone."""
    model, inputs = attempt.loaded.model(), attempt.inputs
    ones = [
        (tensor.label, dim)
        for tensor in input_tensors(model, inputs)
        for dim, size in enumerate(tensor.value.shape)
        if size == 1 and (tensor.label, dim) in attempt.free
    ]
    if not ones:
        return inputs, []
    eager = attempt.loaded.eager()
    grown: list[DimPlace] = []
    groups = [[place for place in ones if place[1] == dim] for dim in sorted({dim for _, dim in ones})]
    for group in groups:
        for places in [group, *([place] for place in group if len(group) > 1)]:
            if not set(places) & set(grown):
                larger = resized(inputs, input_tensors(model, inputs), dict.fromkeys(places, _GROWN))
                if accepts(eager, larger):
                    inputs = larger
                    grown += places
    return inputs, [{"fact": "one-in-sample", "dims": [list(place) for place in grown]}] if grown else []
