"""Read the sizes of the inputs as one export left them: numbers, symbols with their ranges, and conditions."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import sympy

from exportlint.trial.child.dynamic_shapes.conditions import (
    FROM,
    LOOK,
    Condition,
    Pick,
    Sizes,
    fails_beyond,
    holds,
    necessary,
    sizes_around,
)
from exportlint.trial.child.torch_private.symbolic_shapes import Mod

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor
    from exportlint.trial.child.torch_private.symbolic_shapes import ShapeDecisions
    from exportlint.trial.protocol.frames import Frame


@dataclass(frozen=True)
class InputSize:
    """One dim of an input. `form` is a number where the trace fixed it, else a symbol or an expression of symbols.

    `symbol` is the dim's own, of which the form came; None for a static dim, and for a sample size of 0 or 1.
    """

    tensor: InputTensor
    dim: int
    form: Any
    symbol: Any = None

    @property
    def sample(self) -> int:
        return int(self.tensor.value.shape[self.dim])

    @property
    def special(self) -> bool:
        """Did torch make a constant of it before the trace, because the sample has 0 or 1 there?"""
        return self.symbol is None and self.sample < FROM

    @property
    def fixed(self) -> bool:
        return not getattr(self.form, "free_symbols", None)

    @property
    def place(self) -> tuple[str, int]:
        """The label of the input, and the dim."""
        return self.tensor.label, self.dim


@dataclass
class SymbolicTrace:
    """What one export decided, read once it is over (or refused)."""

    decisions: ShapeDecisions
    env: Any
    sizes: list[InputSize]
    conditions: list[Condition] = field(default_factory=list)
    ranges: dict[Any, tuple[int, int | None]] = field(default_factory=dict)
    coupled: dict[Any, tuple[Frame, ...]] = field(default_factory=dict)  # symbol that stands for several -> why
    bounds: dict[tuple[Any, str], tuple[Frame, ...]] = field(default_factory=dict)  # symbol, "low" or "high" -> why

    def roots(self) -> list[Any]:
        """The free symbols of all sizes, in the order of the inputs."""
        return list(dict.fromkeys(s for size in self.sizes if not size.fixed for s in _symbols(size.form)))

    def samples(self) -> Pick:
        """The free symbols in the sample."""
        return {root: self._sample(root) for root in self.roots()}

    def _sample(self, root: Any) -> int:
        forms = [size for size in self.of(root) if size.form.free_symbols == {root}]
        plain = next((size for size in forms if size.form == root), None)
        if plain is not None or not forms:
            return plain.sample if plain is not None else FROM
        found = sympy.solve(forms[0].form - forms[0].sample, root)
        return int(found[0]) if len(found) == 1 else FROM

    def fix(self, roots: Collection[Any]) -> None:
        """Leave dims as they are in the sample, and forget what was demanded of them."""
        samples = {root: sympy.Integer(number) for root, number in self.samples().items() if root in set(roots)}
        self.sizes = [replace(size, form=sympy.sympify(size.form).xreplace(samples)) for size in self.sizes]
        kept = ((one, one.expr.xreplace(samples)) for one in self.conditions)
        self.conditions = [replace(one, expr=expr) for one, expr in kept if getattr(expr, "free_symbols", None)]
        self.ranges = {root: bounds for root, bounds in self.ranges.items() if root not in samples}

    def substitute(self, forms: Mapping[Any, Any], ranges: Mapping[Any, tuple[int, int | None]]) -> None:
        """Write symbols with others, whose ranges these are."""
        self.sizes = [replace(size, form=sympy.sympify(size.form).xreplace(forms)) for size in self.sizes]
        self.ranges = {root: bounds for root, bounds in self.ranges.items() if root not in forms} | dict(ranges)
        plain = [c for c in self.conditions if not c.symbols & set(forms)]
        written = (replace(c, expr=c.expr.xreplace(forms), multiple=None) for c in self.conditions if c not in plain)
        changed = [c for c in written if c.symbols]
        bounds = {root: Sizes(*self.ranges[root]) for root in self.roots()}
        self.conditions = necessary([*plain, *changed], self.samples(), bounds)

    def join_named(self) -> None:
        """Join the dims that are declared under one name, also where the trace did not need them equal."""
        first: dict[str, Any] = {}
        for size in list(self.sizes):
            name = getattr(size.tensor.asked().get(size.dim), "__name__", None)
            if name and size.form in self.ranges:
                self._join(size.form, first.setdefault(name, size.form))

    def join_batches(self, declared: Collection[tuple[str, int]]) -> list[InputSize]:
        """Join first dims of the same sample size, though nothing in the code demands it; the joined dims come back.

        Few models mean to take two batches at once. Dims that are declared stay as they are.
        """
        first = [size for size in self.sizes if size.dim == 0 and size.tensor.value.dim() > 1]
        free = [size for size in first if size.form in self.ranges and size.place not in declared]
        joined = [size for size in free if size.sample == free[0].sample and size.form != free[0].form]
        for size in joined:
            self._join(size.form, free[0].form)
        return joined

    def _join(self, root: Any, into: Any) -> None:
        if root == into or root not in self.ranges:
            return
        (low, high), (least, most) = self.ranges.pop(root), self.ranges[into]
        self.ranges[into] = max(low, least), min((bound for bound in (high, most) if bound is not None), default=None)
        self.sizes = [replace(size, form=size.form.xreplace({root: into})) for size in self.sizes]
        for index, one in enumerate(self.conditions):
            multiple = (into, one.multiple[1]) if one.multiple and one.multiple[0] == root else one.multiple
            self.conditions[index] = replace(one, expr=one.expr.xreplace({root: into}), multiple=multiple)

    def of(self, root: Any) -> list[InputSize]:
        return [size for size in self.sizes if not size.fixed and root in size.form.free_symbols]

    def why_fixed(self, size: InputSize) -> tuple[Frame, ...]:
        """The line that made a number of the dim, perhaps by way of another dim that it equals."""
        symbol = size.symbol
        for _ in range(10):
            target = self.env.replacements.get(symbol)
            if target is None or not getattr(target, "free_symbols", None):
                break
            symbol = _symbols(target)[0]
        return self.decisions.frames("replaced", symbol, last=True) if symbol is not None else ()

    def why_equal(self, size: InputSize) -> tuple[Frame, ...]:
        return self.decisions.frames("replaced", size.symbol) if size.symbol is not None else ()

    def why_narrowed(self, root: Any, side: str | None = None) -> tuple[Frame, ...]:
        """The line that limits a symbol: its least size ("low"), its largest one ("high"), or either."""
        sides = (side,) if side else ("high", "low")
        known = (self.bounds.get((root, one)) for one in sides)
        return next(filter(None, known), None) or self.decisions.frames("narrowed", root, last=True)


def read_trace(decisions: ShapeDecisions, tensors: Sequence[InputTensor]) -> SymbolicTrace | None:
    """None where nothing symbolic was traced."""
    # Operators that trace functions of their own (scan, cond) have environments with other sources.
    known = [(env, _by_source(env)) for env in decisions.envs]
    best = max(reversed(known), key=lambda pair: _found(pair[1], tensors), default=None)
    if best is None or not _found(best[1], tensors):
        return None
    env, symbols = best
    sizes = [
        InputSize(tensor, dim, sympy.Integer(number) if symbol is None else env.replace(symbol), symbol)
        for tensor in tensors
        for dim, number in enumerate(tensor.value.shape)
        for symbol in [_symbol(symbols, tensor, dim)]
    ]
    trace = SymbolicTrace(decisions, env, sizes)
    trace.ranges = {root: _range(env, root) for root in trace.roots()}
    _take_conditions(trace)
    # Where small sizes are kept free, 1 may be all that is left.
    trace.ranges = {root: (low if high is None else min(low, high), high) for root, (low, high) in trace.ranges.items()}
    trace.join_named()
    return trace


def _symbol(symbols: Mapping[str, tuple[Any, Any]], tensor: InputTensor, dim: int) -> Any:
    """The operand of a function that `cond` traces may be called like an input, and has another size."""
    known = (symbols[place] for name in tensor.names if (place := f"{name}.size()[{dim}]") in symbols)
    size = tensor.value.shape[dim]
    return next((symbol for symbol, sample in known if sample is None or int(sample) == size), None)


def _found(symbols: Mapping[str, tuple[Any, Any]], tensors: Sequence[InputTensor]) -> int:
    """How many dims of the inputs have a symbol there?"""
    places = ((tensor, dim) for tensor in tensors for dim in range(tensor.value.dim()))
    return sum(_symbol(symbols, tensor, dim) is not None for tensor, dim in places)


def _by_source(env: Any) -> dict[str, tuple[Any, Any]]:
    """What torch calls a size -> its symbol, and the size in the sample. `name` was a method before 2.10."""
    samples = getattr(env, "backed_var_to_val", None) or getattr(env, "var_to_val", {})
    return {
        str(source.name() if callable(source.name) else source.name): (symbol, samples.get(symbol))
        for symbol, sources in env.var_to_sources.items()
        for source in sources
    }


def _symbols(expr: Any) -> list[Any]:
    return sorted(expr.free_symbols, key=str)


def _range(env: Any, root: Any) -> tuple[int, int | None]:
    found = env.var_to_range.get(root)
    low, high = (_whole(found.lower), _whole(found.upper)) if found is not None else (None, None)
    return max(FROM, low or FROM), high


def _whole(bound: Any) -> int | None:
    """None for the infinities."""
    return int(bound) if getattr(bound, "is_Integer", False) else None


def _take_conditions(trace: SymbolicTrace) -> None:
    """Keep the guards beyond ranges and equal sizes as conditions. Those that only bound a symbol become its range."""
    roots, samples = set(trace.roots()), trace.samples()
    found: dict[Any, Condition] = {}
    for demanded in _demands(trace.env):
        expr = trace.env.replace(demanded)
        symbols: set[Any] = getattr(expr, "free_symbols", set())
        if symbols and symbols <= roots and holds(expr, samples):
            found.setdefault(expr, Condition(expr, trace.decisions.frames("guard", demanded)))
    own = {root: [c for c in found.values() if c.symbols == {root}] for root in samples}
    folded = {root: _folded(trace, root, own[root]) for root in samples if own[root]}
    joint = [c for c in found.values() if len(c.symbols) > 1]
    ranges = {root: Sizes(*trace.ranges[root]) for root in samples}
    trace.conditions = necessary([*(c for some in folded.values() for c in some), *joint], samples, ranges)


def _demands(env: Any) -> Iterator[Any]:
    """The guards, and what torch left to be asserted when the program runs."""
    yield from (guard.expr for guard in env.guards)
    yield from (one.expr for some in getattr(env, "deferred_runtime_asserts", {}).values() for one in some)


def _folded(trace: SymbolicTrace, root: Any, own: list[Condition]) -> list[Condition]:
    """The conditions on one symbol that no range expresses; its range takes the others in."""
    sample, bounds = trace.samples()[root], Sizes(*trace.ranges[root])

    def keeps(size: int) -> bool:
        return all(holds(c.expr, {root: size}) for c in own)

    sizes = sizes_around(sample, keeps, bounds)
    looked = range(bounds.low, min(sample + LOOK, bounds.high or sample + LOOK) + 1)
    if any(keeps(size) != (size in sizes) for size in looked):
        return own
    trace.ranges[root] = (sizes.low, sizes.high)
    beyond = [("low", sizes.low - sizes.step), *([("high", sizes.high + sizes.step)] if sizes.high else [])]
    for side, size in beyond:
        if size >= FROM and (out := fails_beyond(own, {root: sample}, root, size)):
            trace.bounds[root, side] = out[0].frames
    if sizes.step == 1:
        return []
    if sizes.low % sizes.step:
        return own
    broken = fails_beyond(own, {root: sample}, root, sample + 1) or own
    multiple = sympy.Eq(Mod(root, sizes.step), 0)
    return [Condition(multiple, broken[0].frames, (root, sizes.step))]
