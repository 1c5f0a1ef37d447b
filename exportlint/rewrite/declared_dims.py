"""Declared dims: `constraints=[dynamic_dim(x, 0) <= 8]` of old torch as `dynamic_shapes=({0: Dim("x_0", max=8)},)`.

What is declared is the same: which dims of which argument vary, between which bounds, and which are equal.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.rewrite.draft import changed_copy, expression
from exportlint.rewrite.place import Place
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site

_EXPORTERS = frozenset({"torch.export.export", "torch._export.export", "torch.export.export_for_training"})
_DYNAMIC_DIM = frozenset({"torch.export.dynamic_dim", "torch._export.dynamic_dim", "torch._dynamo.dynamic_dim"})
_Dim = tuple[str, int]  # the argument as it is written, and the number of the dim
_MIRRORED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq}


class DeclaredDims:
    """At a call of export, or inside of one."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        place, draft = Place.of(site), site.draft()
        node: ast.AST | None = site.node.value if isinstance(site.node, ast.Expr) else site.node
        while node is not None and not (isinstance(node, ast.Call) and place.origin(node.func) in _EXPORTERS):
            node = draft.parent(node)
        match node:
            case ast.Call(args=[_, ast.Tuple(elts=arguments), *_], keywords=keywords):
                declared = next((one for one in keywords if one.arg == "constraints"), None)
                if declared is None or not isinstance(declared.value, ast.List):
                    return
                found = _Declared(place)
                for one in declared.value.elts:
                    found.read(one)
                shapes = ast.Tuple([found.of(one) for one in arguments], ast.Load())
                new = [ast.keyword("dynamic_shapes", shapes) if one is declared else one for one in keywords]
                draft.swap(node, changed_copy(node, keywords=new))
                yield Proposal("declare the dims with `dynamic_shapes=`", draft)


@dataclass
class _Bounds:
    name: str
    low: int | None = None
    high: int | None = None


class _Declared:
    """What the constraints say of each dim."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.dims: dict[_Dim, _Bounds] = {}

    def read(self, node: ast.expr) -> None:
        match node:
            case ast.Call():
                self._bounds(node)
            case ast.Compare(left=left, ops=ops, comparators=others):
                sides = [left, *others]
                for number, op in enumerate(ops):
                    self._compared(sides[number], type(op), sides[number + 1])
            case _:
                raise CannotError("a constraint is no call and no comparison")

    def _compared(self, left: ast.expr, op: type[ast.cmpop], right: ast.expr) -> None:
        match left, right:
            case ast.Call(), ast.Call() if op is ast.Eq:
                ours, theirs = self._bounds(left), self._bounds(right)
                for dim, held in self.dims.items():
                    if held is theirs:
                        self.dims[dim] = ours
                return
            case ast.Constant(value=int()), ast.Call() if op in _MIRRORED:
                self._compared(right, _MIRRORED[op], left)
                return
            case ast.Call(), ast.Constant(value=int(number)):
                bounds = self._bounds(left)
                if op in {ast.Lt, ast.LtE}:
                    bounds.high = number - (op is ast.Lt)
                    return
                if op in {ast.Gt, ast.GtE}:
                    bounds.low = number + (op is ast.Gt)
                    return
        raise CannotError("a constraint is of another kind")

    def _bounds(self, node: ast.Call) -> _Bounds:
        if self.place.origin(node.func) not in _DYNAMIC_DIM:
            raise CannotError("a constraint is of another function")
        match node.args:
            case [argument, ast.Constant(value=int(number))]:
                text = ast.unparse(argument)
                name = "_".join([*(part for part in text.split(".") if part.isidentifier()), str(number)])
                return self.dims.setdefault((text, number), _Bounds(name if name[0].isalpha() else f"dim_{number}"))
        raise CannotError("the dim is computed")

    def of(self, argument: ast.expr) -> ast.expr:
        """What `dynamic_shapes` says of an argument."""
        text = ast.unparse(argument)
        own = [(number, bounds) for (name, number), bounds in self.dims.items() if name == text]
        if not own:
            return ast.Constant(None)
        keys: list[ast.expr | None] = [ast.Constant(number) for number, _ in own]
        return ast.Dict(keys, [_dim(bounds) for _, bounds in own])


def _dim(bounds: _Bounds) -> ast.expr:
    made = expression("torch.export.Dim(NAME)", NAME=ast.Constant(bounds.name))
    limits = [("min", bounds.low), ("max", bounds.high)]
    words = [ast.keyword(word, ast.Constant(limit)) for word, limit in limits if limit is not None]
    assert isinstance(made, ast.Call)  # noqa: S101 - it is written above
    return changed_copy(made, keywords=words)
