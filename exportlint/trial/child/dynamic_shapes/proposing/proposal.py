"""Propose a `dynamic_shapes`: free every dim, read what the export demands, write what keeps to it, export with that
and run other sizes. What torch refuses then, or what goes wrong, stays as it is in the sample, and is tried again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.declarations import DimPlace, range_of, within
from exportlint.trial.child.dynamic_shapes.facts import constants_of, dims_of
from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor, input_tensors
from exportlint.trial.child.dynamic_shapes.proposing.coupled_sizes import couple_sizes
from exportlint.trial.child.dynamic_shapes.proposing.dim_names import meaning
from exportlint.trial.child.dynamic_shapes.proposing.free_export import exported_free
from exportlint.trial.child.dynamic_shapes.proposing.one_in_sample import without_ones
from exportlint.trial.child.dynamic_shapes.proposing.search import ProposalSearch, Start
from exportlint.trial.child.dynamic_shapes.size_names import declared_as, names
from exportlint.trial.child.dynamic_shapes.time_limit import SECONDS, OutOfTimeError, in_time
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.trial.child.dynamic_shapes.other_sizes import SideBySide, Tried
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.size_facts import Fact, ShapesFound


_FLAT, _SIDE = 3, 16  # a picture has more dims, and no side is shorter


@dataclass(frozen=True)
class Proposed:
    """What could be declared.

    code      what was exported with, and ran with other sizes; None where nothing could be
    facts     what the exports found; why no dim can move, where that is so
    trace     with `tried`: the sizes that ran, and what came of them
    both      eager and the program that was exported with the code
    refusal   torch refused even the export with free dims
    """

    code: str | None = None
    facts: tuple[Fact, ...] = ()
    trace: SymbolicTrace | None = None
    called: Mapping[Any, str] = field(default_factory=dict)
    tried: tuple[Tried, ...] = ()
    refusal: Observation | None = None
    both: SideBySide | None = None

    @property
    def found(self) -> ShapesFound:
        """As plain data, for the parent."""
        return {"facts": list(self.facts), "code": self.code or ""}


@dataclass(frozen=True)
class Wish:
    """The dims that may move, each with what is declared for it or None, and what else of a target matters here.

    others   further inputs of the target, whose sizes are wanted too
    steady   does eager repeat itself? Else values are not compared.
    """

    loaded: Loaded
    inputs: Inputs
    mode: str
    free: Mapping[DimPlace, Any]
    others: Inputs | None = None
    steady: bool = True


def proposed(wish: Wish) -> Proposed:
    """Propose a declaration, and export with it. Where torch refuses, or does not end in time, fewer dims are tried."""
    not_all: list[Fact] = []
    outcome = Proposed()
    for free in _dim_choices(wish.free, input_tensors(wish.loaded.model(), wish.inputs)):
        try:
            return _proposed(wish, free, not_all)
        except OutOfTimeError as exc:
            why: Fact = {"fact": "not-all-tried", "seconds": exc.seconds}
        except BaseException as exc:  # noqa: BLE001 - torch lets anything through
            outcome = Proposed(refusal=of_exception(exc))
            why = {"fact": "not-all-tried", "torch_says": short(str(exc) or type(exc).__name__)}
        not_all = not_all or [why]
    return outcome if outcome.refusal else Proposed(facts=tuple(not_all))


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


def _proposed(wish: Wish, free: Mapping[DimPlace, Any], remarks: Sequence[Fact]) -> Proposed:
    given, grown = without_ones(wish.loaded, wish.inputs, free)
    remarks = [*([{"fact": "one-in-sample", "dims": list(map(list, grown))}] if grown else []), *remarks]
    program, trace = exported_free(wish.loaded, given, wish.mode, free)
    if trace is None or not trace.roots():
        return Proposed(facts=({"fact": "none"}, *(constants_of(trace) if trace else ()), *remarks))
    declared = {place: what for place, what in free.items() if what is not None}
    _narrow(trace, declared)
    if joined := trace.join_batches(declared):
        remarks.append({"fact": "batches-joined", "dims": dims_of(joined)})
    known = {place: declared_as(what) for place, what in declared.items() if hasattr(what, "__name__")}
    meant = meaning(wish.loaded, given, program, trace)
    couple_sizes(trace)
    called = names(trace, known, meant)
    start = Start(wish.loaded, given, wish.mode, trace, called, _others(wish, trace), wish.steady)
    with in_time(2 * SECONDS):
        found = ProposalSearch(start, _least(trace, declared), program).run()
    both = start.side_by_side(found.program) if found.program is not None else None
    facts = (*found.facts, *remarks)
    return Proposed(found.code, facts, found.trace, called, tuple(found.tried), both=both)


def _narrow(trace: SymbolicTrace, declared: Mapping[DimPlace, Any]) -> None:
    """What was declared of a dim stays within the range that was declared, which takes in the sample."""
    for size in trace.sizes:
        what = declared.get(size.place)
        if what is not None and size.form in trace.ranges:
            low, high = range_of(what)
            asked = min(low, size.sample), high if high is None else max(high, size.sample)
            trace.ranges[size.form] = within(asked, trace.ranges[size.form])


def _least(trace: SymbolicTrace, declared: Mapping[DimPlace, Any]) -> dict[Any, int]:
    """The least size that may be declared: 1, which torch does not trace, where nobody declared more."""
    named = (size for size in trace.sizes if hasattr(declared.get(size.place), "__name__"))
    mins = ((size.form, range_of(declared[size.place])[0]) for size in named)
    asked: dict[Any, int] = {}
    for root, low in mins:
        asked[root] = max(low, asked.get(root, 1))
    return {root: asked.get(root, 1) for root in trace.roots()}


def _others(wish: Wish, trace: SymbolicTrace) -> dict[DimPlace, int] | None:
    """The sizes of the further inputs; None without, or where their structure is another."""
    if wish.others is None:
        return None
    tensors = {tensor.label: tensor.value for tensor in input_tensors(wish.loaded.model(), wish.others)}
    ours = {size.tensor.label: size.tensor.value.dim() for size in trace.sizes}
    if any(label not in tensors or tensors[label].dim() != rank for label, rank in ours.items()):
        return None
    return {size.place: int(tensors[size.tensor.label].shape[size.dim]) for size in trace.sizes}
