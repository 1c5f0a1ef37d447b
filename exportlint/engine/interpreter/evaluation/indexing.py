"""Evaluate what an index gives: of tensors, shapes, containers."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import (
    SIZE,
    UNBACKED,
    Container,
    Module,
    Shape,
    Tensor,
    Unknown,
    Value,
    exactly,
    sized,
)
from exportlint.engine.values.demands import Dims, extent_of
from exportlint.engine.values.kinds import Kind, Source
from exportlint.engine.values.reshaping import NEW_DIM, UNCLEAR, Piece, indexed

if TYPE_CHECKING:
    from exportlint.engine.values.extents import Extent


class IndexExpressions:
    """The part of the evaluator that deals with indices."""

    def value(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def index_tensor(self, owner: Tensor, node: ast.expr, index: Value) -> Value:
        parts = [self.value(p) for p in node.elts] if isinstance(node, ast.Tuple) else [index]
        masked = any(p.kind is Kind.TENSOR and p.boolean and p.certain for p in parts)
        rows = any(p.kind is Kind.TENSOR and p.unbacked for p in parts)
        kept = owner.unbacked and not any(p.kind is Kind.SCALAR for p in parts[:1])
        bounded = isinstance(node, ast.Slice) and any(
            b is not None and self.value(b).is_unbacked for b in (node.lower, node.upper)
        )
        view = owner.source is not Source.INPUT and not masked
        source = owner.source if view else Source.COMPUTED
        dims = self._indexed_dims(owner.dims, node) if owner.dims is not None else None
        return exactly(Tensor(source, owner.boolean, masked or rows or kept or bounded, owner.on_self and view, dims))

    def _indexed_dims(self, dims: Dims, node: ast.expr) -> Dims | None:
        nodes = node.elts if isinstance(node, ast.Tuple) else [node]
        parts: list[Piece | Extent] = []
        for part in nodes:
            if isinstance(part, ast.Constant) and part.value is ...:
                taken = sum(not (isinstance(p, ast.Constant) and p.value in (None, ...)) for p in nodes)
                parts += [Piece()] * (len(dims) - taken)
            elif (piece := self._piece(part)) is not None:
                parts.append(piece)
            else:
                return None
        return indexed(dims, parts).dims

    def _piece(self, node: ast.expr) -> Piece | Extent | None:
        match node:
            case ast.Constant(value=None):
                return NEW_DIM
            case ast.Slice(step=None, lower=lower, upper=upper):
                low, high = (extent_of(self.value(end)) or UNCLEAR if end else None for end in (lower, upper))
                return Piece(low, high)
            case ast.Slice():
                return Piece(UNCLEAR, UNCLEAR)
        found = self.value(node)
        if found.kind in {Kind.SCALAR, Kind.SIZE, Kind.UNBACKED} and found.certain and found.container != "bool":
            return extent_of(found) or UNCLEAR
        return None

    def index_shape(self, owner: Shape, node: ast.expr, index: Value) -> Value:
        if isinstance(node, ast.Slice):
            return exactly(Shape(owner.unbacked and node.lower is None, self._cut(owner.dims, node)))
        first = isinstance(node, ast.Constant) and node.value == 0
        if owner.unbacked and first:
            return UNBACKED.because(f"`{ast.unparse(node)}` of `.shape[…]`", node.lineno)
        place = extent_of(index)
        if owner.dims is None or place is None or place.number is None:
            return SIZE
        return sized(owner.dims[place.number]) if -len(owner.dims) <= place.number < len(owner.dims) else SIZE

    def _cut(self, dims: Dims | None, node: ast.Slice) -> Dims | None:
        """`x.shape[1:]`."""
        ends = [extent_of(self.value(end)) if end else UNCLEAR for end in (node.lower, node.upper)]
        if dims is None or node.step or any(end is None or (end != UNCLEAR and end.number is None) for end in ends):
            return None
        low, high = (end.number if end else None for end in ends)
        return dims[low:high]

    def item(self, owner: Container | Module | Unknown, node: ast.expr, index: Value) -> Value:
        whole = exactly(owner)
        if isinstance(node, ast.Constant):
            if isinstance(node.value, int) and whole.items and -len(whole.items) <= node.value < len(whole.items):
                return whole.items[node.value]
            if isinstance(node.value, str | int) and (field := whole.field(str(node.value))) is not None:
                return field
        if index.container == "str" and index.name and (field := whole.field(index.name)) is not None:
            return field
        if isinstance(node, ast.Slice):
            return whole.but(items=None)
        # Which of the elements it is, is not known.
        found = (
            whole.element.but(on_self=owner.on_self, truth=None, name=None)
            if whole.element
            else exactly(Unknown(on_self=owner.on_self))
        )
        return one_of(found) if isinstance(node, ast.Constant) else found


def one_of(element: Value) -> Value:
    """An element at one place, of which it is known only what all of them may be: tensors here, sizes there."""
    return element if len({option.kind for option in element.options}) == 1 else element.doubted()
