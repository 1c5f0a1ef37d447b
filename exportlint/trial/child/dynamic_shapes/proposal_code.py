"""Write a `dynamic_shapes` to paste: named dims that inputs share, with their ranges."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import sympy

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    import torch

    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace


@dataclass(frozen=True)
class ShapesCode:
    """`code` is Python; `shapes` what it makes."""

    code: str
    shapes: Any


class _Written(str):
    """Code, which `repr` leaves as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def write_shapes(
    trace: SymbolicTrace,
    tree_for: Callable[[Callable[[str, torch.Tensor], Any]], dict[str, Any]],
    called: Mapping[Any, str],
    least: Mapping[Any, int],
    loose: Collection[str] = (),
) -> ShapesCode:
    """Declare every free dim of the trace.

    tree_for   makes a `dynamic_shapes` of the inputs, given what to put in the place of each tensor
    called     the names of the free symbols
    least      the smallest size that was tried and is right, for a symbol where that is below torch's own 2
    loose      names that carry a condition which no range can express: their dims are declared Dim.DYNAMIC
    """
    writing = _Writing(trace, called, least, loose)
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
        self, trace: SymbolicTrace, called: Mapping[Any, str], least: Mapping[Any, int], loose: Collection[str]
    ) -> None:
        self._trace = trace
        self._called = called
        self._least = least
        self._sizes = {size.place: size for size in trace.sizes}
        self._multiples = dict(c.multiple for c in trace.conditions if c.multiple)
        conditioned = {s for c in trace.conditions if not c.multiple for s in c.symbols}
        self._loose = conditioned | {root for root, name in called.items() if {name, f"_{name}"} & set(loose)}
        self._used: dict[str, str] = {}

    def declarations(self) -> list[str]:
        return list(self._used.values())

    def tensor(self, label: str, tensor: torch.Tensor) -> Any:
        dims = {dim: self._dim(self._sizes[label, dim]) for dim in range(tensor.dim()) if (label, dim) in self._sizes}
        return {dim: _Written(code) for dim, code in dims.items() if code} or None

    def _dim(self, size: InputSize) -> str | None:
        if size.fixed:
            return None
        (root, *others), form = sorted(size.form.free_symbols, key=str), size.form
        if others or root in self._loose:
            return "Dim.DYNAMIC"
        name = self._called[root]
        if form == root:
            return self._multiple(root, name) if root in self._multiples else self._plain(root, name)
        factor, rest = _linear(form, root)
        if factor is None or root in self._multiples:
            return "Dim.DYNAMIC"
        self._plain(root, name)
        return f"{factor} * {name}" * (rest == 0) or f"{factor} * {name} + {rest}" * (factor != 1) or f"{name} + {rest}"

    def _plain(self, root: Any, name: str) -> str:
        low, high = self._trace.ranges[root]
        self._declare(name, self._least.get(root, low), high)
        return name

    def _multiple(self, root: Any, name: str) -> str:
        low, high = self._trace.ranges[root]
        number = self._multiples[root]
        self._declare(f"_{name}", max(1, -(-low // number)), None if high is None else high // number)
        return f"{number} * _{name}"

    def _declare(self, name: str, low: int, high: int | None) -> None:
        most = "" if high is None else f", max={high}"
        self._used[name] = f'{name} = Dim("{name}", min={low}{most})'


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
