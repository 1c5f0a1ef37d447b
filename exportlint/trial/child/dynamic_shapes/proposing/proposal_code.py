"""Write a `dynamic_shapes` to paste: named dims that inputs share, with their ranges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy
from torch.export import Dim

from exportlint.trial.child.dynamic_shapes.conditions import FROM
from exportlint.trial.child.dynamic_shapes.declared_code import Written
from exportlint.trial.child.dynamic_shapes.size_names import neutral_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    import torch

    from exportlint.trial.child.dynamic_shapes.conditions import Sizes
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace


@dataclass(frozen=True)
class ShapesCode:
    """`code` is Python; `shapes` what it makes."""

    code: str
    shapes: Any


def write_shapes(
    trace: SymbolicTrace,
    tree_for: Callable[[Callable[[str, torch.Tensor], Any]], dict[str, Any]],
    called: Mapping[Any, str],
    free: Mapping[Any, Sizes],
    loose: Collection[Any] = (),
) -> ShapesCode:
    """Declare the dims of the trace that are made of free symbols.

    tree_for   makes a `dynamic_shapes` of the inputs, given what to put in the place of each tensor
    called     the names of the symbols
    free       the sizes of each symbol that may move
    loose      symbols, and names of sums, of which torch does not see that their range is right: they get no name
    """
    writing = _Writing(trace, called, free, loose)
    tree = tree_for(writing.tensor)
    code = "\n".join([*_IMPORTS, *writing.declarations(), f"dynamic_shapes = {_laid_out(tree)}"])
    return ShapesCode(code, _made(code, tree))


_IMPORTS = ("from torch.export import Dim", "")


def _made(text: str, tree: Any) -> Any:
    """The value of the text, whose only names beside Dim are the named tuples among the inputs."""
    space: dict[str, Any] = {type(part).__name__: type(part) for part in _tuples(tree)}
    exec(text, space)  # noqa: S102 - it was written above, out of names and numbers
    return space["dynamic_shapes"]


def _tuples(tree: Any) -> Iterator[Any]:
    if hasattr(tree, "_fields"):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (list, tuple)) else ():
        yield from _tuples(part)


def _laid_out(tree: dict[str, Any]) -> str:
    """One argument a line."""
    return "{\n" + "".join(f"    {name!r}: {part!r},\n" for name, part in tree.items()) + "}"


class _Writing:
    def __init__(
        self, trace: SymbolicTrace, called: Mapping[Any, str], free: Mapping[Any, Sizes], loose: Collection[Any]
    ) -> None:
        self._called = called
        self._free = free
        self._places = {size.place: size for size in trace.sizes}
        self._loose = loose
        self._names_of_sums = names_of_sums(trace)
        self._used: dict[str, str] = {}

    def declarations(self) -> list[str]:
        return list(self._used.values())

    def tensor(self, label: str, tensor: torch.Tensor) -> Any:
        dims = {dim: self._dim(self._places[label, dim]) for dim in range(tensor.dim()) if (label, dim) in self._places}
        return {dim: Written(code) for dim, code in dims.items() if code} or None

    def _dim(self, size: InputSize) -> str | None:
        if size.fixed:
            return None
        (root, *others), form = sorted(size.form.free_symbols, key=str), size.form
        factor, rest = _linear(form, root) if not others else (None, 0)
        if factor is None:
            return self._computed(size)
        if root in self._loose:
            return self._range_only(root) if form == root else "Dim.AUTO"
        step, offset = self._free[root].step, self._free[root].low % self._free[root].step
        return _expression(self._declared(root), factor * step, factor * offset + rest)

    def _declared(self, root: Any) -> str:
        sizes, name = self._free[root], self._called[root]
        if sizes.step == 1:
            low, high = sizes.low, sizes.high
        else:
            name = f"_{name}"
            low, high = sizes.low // sizes.step, None if sizes.high is None else sizes.high // sizes.step
        self._used[name] = f'{name} = Dim("{name}"{_bounds(low, high)})'
        return name

    def _computed(self, size: InputSize) -> str:
        """A sum of two sizes, say, which follows from them. With 1 there eager would broadcast, and the program not."""
        name = self._names_of_sums[size.place]
        if name in self._loose:
            return "Dim.AUTO"
        roots = size.form.free_symbols
        low = int(size.form.xreplace({root: self._free[root].low for root in roots}))
        highs = {root: self._free[root].high for root in roots}
        high = None if None in highs.values() else int(size.form.xreplace(highs))
        self._used[name] = f'{name} = Dim("{name}"{_bounds(max(FROM, low), high)})'
        return name

    def _range_only(self, root: Any) -> str:
        """Dim.DYNAMIC with the range; it took none before torch 2.7."""
        sizes = self._free[root]
        if not callable(Dim.DYNAMIC) or (sizes.low <= FROM and sizes.high is None):
            return "Dim.DYNAMIC"
        return f"Dim.DYNAMIC({_bounds(max(FROM, sizes.low), sizes.high).removeprefix(', ')})"


def names_of_sums(trace: SymbolicTrace) -> dict[tuple[str, int], str]:
    """Names for the dims that are computed from several others."""
    sums = (size for size in trace.sizes if not size.fixed and len(size.form.free_symbols) > 1)
    return {size.place: neutral_name(size) for size in sums}


def _bounds(low: int, high: int | None) -> str:
    return f", min={low}" + ("" if high is None else f", max={high}")


def _expression(name: str, factor: int, rest: int) -> str:
    """`2 * name + 1`."""
    text = name if factor == 1 else f"{factor} * {name}"
    if rest:
        text += f" + {rest}" if rest > 0 else f" - {-rest}"
    return text


def _linear(form: Any, root: Any) -> tuple[int | None, int]:
    """2 and 1 for `2*s + 1`."""
    poly = sympy.Poly(form, root) if form.is_polynomial(root) else None
    if poly is None or poly.degree() != 1 or not all(c.is_Integer for c in poly.all_coeffs()):
        return None, 0
    factor, rest = (int(c) for c in poly.all_coeffs())
    return factor, rest


_VIOLATED = re.compile(r"Constraints violated \((?P<dims>[^)]*)\)")


def violated_names(message: str) -> frozenset[str]:
    """The named dims that carry a condition, by torch's message; empty for another message."""
    found = _VIOLATED.search(message)
    return frozenset(re.findall(r"\w+", found["dims"])) if found else frozenset()
