"""Propose a `dynamic_shapes`: free every dim, read what the export demands, write what keeps to it, export with that
and run other sizes. What torch refuses then, or what goes wrong, stays as it is in the sample, and is tried again.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy
import torch

from exportlint.trial.child.dynamic_shapes.declarations import range_of, within
from exportlint.trial.child.dynamic_shapes.eager_reach import MEMORY
from exportlint.trial.child.dynamic_shapes.free_export import SECONDS, exported_free
from exportlint.trial.child.dynamic_shapes.input_tensors import DimPlace, InputTensor, input_tensors
from exportlint.trial.child.dynamic_shapes.other_sizes import accepts, resized
from exportlint.trial.child.dynamic_shapes.proposal_search import ProposalSearch, Start
from exportlint.trial.child.dynamic_shapes.size_facts import constants_of, declared_as, dims_of, names
from exportlint.trial.child.execution.time_limit import OutOfTimeError, in_time
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from exportlint.trial.child.dynamic_shapes.conditions import Condition
    from exportlint.trial.child.dynamic_shapes.other_sizes import SideBySide, Tried
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace
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
    memory   so many bytes may a call with a large size take
    """

    loaded: Loaded
    inputs: Inputs
    mode: str
    free: Mapping[DimPlace, Any]
    others: Inputs | None = None
    steady: bool = True
    memory: int = MEMORY


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
    start = Start(wish.loaded, given, wish.mode, trace, called, _others(wish, trace), wish.steady, wish.memory)
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


# A sample with sizes of 1, of which torch makes constants, with larger ones in their place.


_GROWN = 3


def without_ones(loaded: Loaded, inputs: Inputs, free: Collection[DimPlace]) -> tuple[Inputs, list[DimPlace]]:
    """Where eager takes 3 instead of 1, that is exported: first dims together, then each dim alone."""
    model = loaded.model()
    ones = [
        (tensor.label, dim)
        for tensor in input_tensors(model, inputs)
        for dim, size in enumerate(tensor.value.shape)
        if size == 1 and (tensor.label, dim) in free
    ]
    if not ones:
        return inputs, []
    eager = loaded.eager()
    grown: list[DimPlace] = []
    groups = [[place for place in ones if place[1] == dim] for dim in sorted({dim for _, dim in ones})]
    for group in groups:
        for places in [group, *([place] for place in group if len(group) > 1)]:
            if not set(places) & set(grown):
                larger = resized(inputs, input_tensors(model, inputs), dict.fromkeys(places, _GROWN))
                if accepts(eager, larger):
                    inputs = larger
                    grown += places
    return inputs, grown


# Sizes that follow each other by a division: frames are every fourth sample, so both are written with one symbol.
#
# A program that takes `wave` of 4 n samples and `mel` of n frames is declared with a Dim for n. Torch keeps such a pair
# as an equation with a quotient that is rounded down, which it does not solve.


_MOST_STEPS = 512
_LOOK = 24  # so many sizes show that a quotient grows evenly


class Couple(NamedTuple):
    """`one` is step n + rest, and `other` is factor n + more, as the condition demands."""

    condition: Condition
    one: Any
    step: int
    rest: int
    other: Any
    factor: int
    more: int


def couple_sizes(trace: SymbolicTrace) -> None:
    """Write pairs of sizes that an equation binds with one symbol, where one grows evenly with steps of the other."""
    while found := next(_couples(trace), None):
        shared = sympy.Symbol(f"{found.one}x{found.step}", integer=True, positive=True)
        one, other = found.step * shared + found.rest, found.factor * shared + found.more
        (low, high), (least, most) = trace.ranges[found.one], trace.ranges[found.other]
        lows = [-(-(low - found.rest) // found.step), -(-(least - found.more) // found.factor), 1]
        highs = [
            (end - rest) // step
            for end, rest, step in ((high, found.rest, found.step), (most, found.more, found.factor))
            if end is not None
        ]
        trace.coupled[shared] = found.condition.frames
        trace.substitute({found.one: one, found.other: other}, {shared: (max(lows), min(highs, default=None))})


def _couples(trace: SymbolicTrace) -> Iterator[Couple]:
    samples = trace.samples()
    for condition in trace.conditions:
        for one, other, quotient in _quotients(condition):
            if one in trace.ranges and other in trace.ranges and (even := _even(quotient, one, samples[one])):
                step, factor, more = even
                rest = samples[one] % step
                if factor * (samples[one] // step) + more == samples[other]:
                    yield Couple(condition, one, step, rest, other, factor, more)


def _quotients(condition: Condition) -> Iterator[tuple[Any, Any, Any]]:
    """Of an equation: a symbol, another, and the other as it is computed from the first."""
    if not isinstance(condition.expr, sympy.Eq) or len(condition.symbols) != 2:  # noqa: PLR2004 - a pair
        return
    difference = sympy.expand(condition.expr.lhs - condition.expr.rhs)
    for other in sorted(condition.symbols, key=str):
        factor = difference.coeff(other, 1)
        remaining = sympy.expand(difference - factor * other)
        if factor in (1, -1) and other not in remaining.free_symbols:
            (one,) = condition.symbols - {other}
            yield one, other, -factor * remaining


def _even(quotient: Any, one: Any, sample: int) -> tuple[int, int, int] | None:
    """The least step of the one with which the quotient grows evenly, by how much, and its start."""
    for step in range(2, min(sample, _MOST_STEPS) + 1):
        start, rest = sample // step, sample % step
        numbers = range(max(1, start - 2), start + _LOOK)
        values = [_value(quotient, one, step * number + rest) for number in numbers]
        growths = {b - a for a, b in pairwise(values)}
        if len(growths) == 1 and (factor := growths.pop()) > 0:
            return step, factor, values[0] - factor * numbers[0]
    return None


def _value(quotient: Any, one: Any, size: int) -> int:
    return int(quotient.xreplace({one: sympy.Integer(size)}))


# What a dim means, by what the model does with it: a batch is what may be cut from inputs and is cut from outputs.


_SPACE = {1: ("length",), 2: ("height", "width"), 3: ("depth", "height", "width")}
_VIDEO = re.compile("video|frame|clip", re.IGNORECASE)
_BATCH_FIRST = 8  # of aten.lstm.input and aten.gru.input
_MOST = 3  # further symbols are no batch


def meaning(loaded: Loaded, inputs: Inputs, program: Any, trace: SymbolicTrace) -> dict[Any, str]:
    """A name for each symbol that the use of its dims shows; none for the others."""
    found: dict[Any, str] = {}
    model = loaded.model()
    for size, name in _by_use(program, trace):
        video = _VIDEO.search(f"{size.tensor.label} {type(model).__name__}")
        found.setdefault(size.form, "frames" if name == "depth" and video else name)
    likely = [size for size in trace.sizes if size.tensor.value.dim() > 1 and size.form in trace.ranges]
    roots = dict.fromkeys(size.form for size in sorted(likely, key=lambda size: size.dim) if size.dim <= 1)
    for root in [root for root in roots if found.get(root, "batch") == "batch"][:_MOST]:
        if "batch" not in found.values() and _is_batch(loaded, inputs, trace, root):
            found[root] = "batch"
    return found


def _by_use(program: Any, trace: SymbolicTrace) -> Iterator[tuple[InputSize, str]]:
    """Dims that a convolution slides over, an embedding looks up one by one, a recurrent layer steps through."""
    sizes = {size.form: size for size in trace.sizes if size.form in trace.ranges}
    for user in program.graph.nodes:
        for node in user.all_input_nodes if user.op == "call_function" else ():
            names = _names(node, user)
            for name, dim in zip(reversed(names), reversed(_shape(node)), strict=False):
                symbols = dim.node.expr.free_symbols if isinstance(dim, torch.SymInt) else ()
                if name and len(symbols) == 1 and (size := sizes.get(next(iter(symbols)))):
                    yield size, name


def _shape(node: Any) -> list[Any]:
    value = node.meta.get("val") if hasattr(node, "meta") else None
    return list(value.shape) if isinstance(value, torch.Tensor) else []


def _names(node: Any, user: Any) -> tuple[str, ...]:
    """Of the last dims of the node, for the operator that takes it."""
    operator = str(user.target)
    arguments = user.args
    if "conv" in operator and len(arguments) > 1 and arguments[0] is node:
        return _SPACE.get(len(_shape(arguments[1])) - 2, ())
    if "embedding" in operator and len(arguments) > 1 and arguments[1] is node:
        return ("length",) if len(_shape(node)) > 1 else ()
    if operator in {"aten.lstm.input", "aten.gru.input"} and arguments[0] is node and len(_shape(node)) > 2:  # noqa: PLR2004
        first = len(arguments) > _BATCH_FIRST and arguments[_BATCH_FIRST]
        return ("batch", "length", "") if first else ("length", "batch", "")
    return ()


def _is_batch(loaded: Loaded, inputs: Inputs, trace: SymbolicTrace, root: Any) -> bool:
    """Do the outputs lose what the inputs lose there, in whatever order it comes, and stay the same otherwise?"""
    sizes = trace.of(root)
    if any(size.form != root for size in sizes):
        return False
    number = trace.samples()[root]
    order = torch.tensor(range(number - 1, 0, -1) if number > 2 else [number - 1, 0, number - 1])  # noqa: PLR2004
    dims = {(size.tensor.label, size.dim) for size in sizes}
    with torch.no_grad():
        try:
            cut = _reordered(loaded.model(), inputs, dims, order)
            ours, theirs = _outputs(loaded.model(), inputs), _outputs(loaded.model(), cut)  # a call may leave a state
        except BaseException:  # noqa: BLE001 - a model may raise anything; then it is no batch
            return False
    pairs = list(zip(ours, theirs, strict=False))
    return (
        len(ours) == len(theirs)
        and any(a.shape != b.shape for a, b in pairs)
        and all(_cut(a, b, order) for a, b in pairs)
    )


def _reordered(model: Any, inputs: Inputs, dims: set[tuple[str, int]], order: torch.Tensor) -> Inputs:
    of = {id(tensor.value): tensor for tensor in input_tensors(model, inputs)}
    leaves, spec = pytree.tree_flatten(inputs)
    found = []
    for original in leaves:
        value = original
        for dim in range(original.dim()) if id(original) in of else ():
            if (of[id(original)].label, dim) in dims:
                value = value.detach().index_select(dim, order)
        found.append(value)
    made: Inputs = pytree.tree_unflatten(found, spec)
    return made


def _outputs(model: Any, inputs: Inputs) -> list[torch.Tensor]:
    args, kwargs = copied(inputs)
    seed(5)
    return [
        leaf.detach().clone() for leaf in pytree.tree_leaves(model(*args, **kwargs)) if isinstance(leaf, torch.Tensor)
    ]


def _cut(ours: torch.Tensor, theirs: torch.Tensor, order: torch.Tensor) -> bool:
    if ours.dim() != theirs.dim() or ours.dtype != theirs.dtype:
        return False
    changed = [dim for dim in range(ours.dim()) if ours.shape[dim] != theirs.shape[dim]]
    if not changed:
        return True  # a table, say, that belongs to no input
    if len(changed) > 1 or int(order.max()) >= ours.shape[changed[0]]:
        return False
    wanted = ours.index_select(changed[0], order)
    return wanted.shape == theirs.shape and bool(torch.allclose(wanted.double(), theirs.double(), rtol=1e-3, atol=1e-4))
