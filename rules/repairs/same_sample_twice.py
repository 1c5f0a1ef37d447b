"""Every input of the sample gets a tensor of its own: the second one is a clone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, Repair, Rewrite, argument
from exportlint.rewriting.source.script_scope import value_in_scope

if TYPE_CHECKING:
    from collections.abc import Iterator

_MOST = 8  # tensors that are written out


class OwnTensors(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        given = [node]
        if isinstance(node, cst.Call) and (args := argument(node, 1, "args")) is not None:
            given = [value_in_scope(self.code, one) for one in (args, argument(node, 2, "kwargs")) if one is not None]
        changes = self._repeated(given[0]) if case == "BadRepeated" else self._cloned(given)
        if found := tuple(changes):
            yield Rewrite("clone the second one", found)

    def _cloned(self, given: list[cst.CSTNode]) -> Iterator[Change]:
        seen: set[int] = set()
        for leaf in (leaf for whole in given for leaf in _leaves(whole)):
            known = value_in_scope(self.code, leaf)
            if isinstance(leaf, cst.Name) and isinstance(known, cst.Call) and id(known) in seen:
                yield Change(leaf, f"{leaf.value}.clone()")
            seen.add(id(known))

    def _repeated(self, node: cst.CSTNode) -> Iterator[Change]:
        """`(x, x.clone())` for `(x,) * 2`."""
        match node:
            case cst.BinaryOperation(
                left=cst.Tuple(elements=elements) | cst.List(elements=elements) as left,
                operator=cst.Multiply(),
                right=cst.Integer(value=number),
            ) if 1 < int(number) <= _MOST and all(isinstance(one.value, cst.Name) for one in elements):
                names = [self.source(one.value) for one in elements]
                inner = ", ".join([*names, *(f"{name}.clone()" for _ in range(1, int(number)) for name in names)])
                yield Change(node, f"({inner})" if isinstance(left, cst.Tuple) else f"[{inner}]")


def _leaves(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    match node:
        case cst.Tuple(elements=elements) | cst.List(elements=elements) | cst.Dict(elements=elements):
            for element in elements:
                yield from _leaves(element.value)
        case _:
            yield node
