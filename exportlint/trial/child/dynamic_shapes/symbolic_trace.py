"""Read the sizes of the inputs as one export left them: numbers, symbols with their ranges, and conditions."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import sympy

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor
    from exportlint.trial.child.dynamic_shapes.shape_decisions import ShapeDecisions
    from exportlint.trial.protocol.frames import Frame


FROM = 2  # torch treats 0 and 1 as sizes of their own; a symbol stands for 2 or more
_LOOK = 144  # so many picks of sizes are tried to see what a condition means
Pick = dict[Any, int]  # symbol -> size


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


@dataclass(frozen=True)
class Condition:
    """Something that must hold beyond ranges and equal sizes, and where it was decided.

    `multiple`: a symbol and 8 where it demands that the symbol is a multiple of 8.
    """

    expr: Any
    frames: tuple[Frame, ...]
    multiple: tuple[Any, int] | None = None

    @property
    def symbols(self) -> frozenset[Any]:
        return frozenset([self.multiple[0]] if self.multiple else self.expr.free_symbols)

    def holds(self, pick: Pick) -> bool:
        """For these sizes; a condition on other symbols is not asked."""
        if not self.symbols <= set(pick):
            return True
        return pick[self.multiple[0]] % self.multiple[1] == 0 if self.multiple else holds(self.expr, pick)


@dataclass
class SymbolicTrace:
    """What one export decided, read once it is over (or refused)."""

    decisions: ShapeDecisions
    env: Any
    sizes: list[InputSize]
    conditions: list[Condition] = field(default_factory=list)
    ranges: dict[Any, tuple[int, int | None]] = field(default_factory=dict)

    def roots(self) -> list[Any]:
        """The free symbols of all sizes, in the order of the inputs."""
        return list(dict.fromkeys(s for size in self.sizes if not size.fixed for s in _symbols(size.form)))

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

    def why_narrowed(self, root: Any) -> tuple[Frame, ...]:
        return self.decisions.frames("narrowed", root, last=True)


def read_trace(decisions: ShapeDecisions, tensors: Sequence[InputTensor]) -> SymbolicTrace | None:
    """None where nothing symbolic was traced."""
    known = [(env, _by_source(env)) for env in decisions.envs]
    traced = [(env, found) for env, found in known if found]
    if not traced:
        return None
    env, symbols = traced[-1]
    sizes = [
        InputSize(tensor, dim, sympy.Integer(number) if symbol is None else env.replace(symbol), symbol)
        for tensor in tensors
        for dim, number in enumerate(tensor.value.shape)
        for symbol in [_symbol(symbols, tensor, dim)]
    ]
    trace = SymbolicTrace(decisions, env, sizes)
    trace.ranges = {root: _range(env, root) for root in trace.roots()}
    _take_conditions(trace)
    trace.join_named()
    return trace


def _symbol(symbols: Mapping[str, Any], tensor: InputTensor, dim: int) -> Any:
    return next((found for name in tensor.names if (found := symbols.get(f"{name}.size()[{dim}]")) is not None), None)


def _by_source(env: Any) -> dict[str, Any]:
    """What torch calls a size -> its symbol. `name` was a method before 2.10."""
    return {
        str(source.name() if callable(source.name) else source.name): symbol
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
    roots = set(trace.roots())
    seen: set[Any] = set()
    for guard in trace.env.guards:
        expr = trace.env.replace(guard.expr)
        symbols: set[Any] = getattr(expr, "free_symbols", set())
        if expr in seen or not symbols or not symbols <= roots:
            continue
        seen.add(expr)
        picks = list(_picks(trace, _symbols(expr)))
        failing = [pick for pick in picks if not holds(expr, pick)]
        if failing and not _raises_the_minimum(trace, expr, picks):
            frames = trace.decisions.frames("guard", guard.expr)
            trace.conditions.append(Condition(expr, frames, _multiple(picks, failing)))


def _raises_the_minimum(trace: SymbolicTrace, expr: Any, picks: list[Pick]) -> bool:
    """A condition on one symbol that only its smallest values break is a range."""
    if len(expr.free_symbols) != 1:
        return False
    (root,) = expr.free_symbols
    first = next((index for index, pick in enumerate(picks) if holds(expr, pick)), None)
    if not first or not all(holds(expr, pick) for pick in picks[first:]):
        return False
    trace.ranges[root] = (picks[first][root], trace.ranges[root][1])
    return True


def _multiple(picks: list[Pick], failing: list[Pick]) -> tuple[Any, int] | None:
    """`s` and 8, if the condition holds for just the multiples of 8 of that symbol."""
    for root in picks[0]:
        for number in range(2, max(pick[root] for pick in picks) + 1):
            if all((pick[root] % number != 0) == (pick in failing) for pick in picks):
                return root, number
    return None


def _picks(trace: SymbolicTrace, roots: list[Any]) -> Iterator[Pick]:
    """Small sizes within the ranges for which the conditions known so far hold."""
    few = max(2, int(_LOOK ** (1 / len(roots))))
    for values in itertools.product(*(_first(trace.ranges[root], few) for root in roots)):
        pick = dict(zip(roots, values, strict=True))
        if all(condition.holds(pick) for condition in trace.conditions):
            yield pick


def _first(bounds: tuple[int, int | None], count: int) -> range:
    low, high = bounds
    return range(low, min(low + count, (high or low + count) + 1))


def holds(expr: Any, pick: Pick) -> bool:
    """Is the condition true for these sizes?"""
    try:
        return bool(expr.xreplace({symbol: sympy.Integer(value) for symbol, value in pick.items()}) is sympy.true)
    except ZeroDivisionError:
        return False
