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
from exportlint.engine.values.dims.needs import Dims, extent_of
from exportlint.engine.values.dims.reshaping import NEW_DIM, UNCLEAR, Piece, indexed
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from exportlint.engine.values.dims.extents import Extent


class IndexExpressions:
    """The part of the evaluator that deals with indices."""

    def value(self, node: ast.expr) -> Value:
        raise NotImplementedError

    def index_tensor(self, owner: Tensor, node: ast.expr, index: Value) -> Value:
        parts = [self.value(p) for p in node.elts] if isinstance(node, ast.Tuple) else [index]
        masked = any(p.kind is Kind.TENSOR and p.boolean and p.certain for p in parts)
        view = owner.source is not Source.INPUT and not masked
        source = owner.source if view else Source.COMPUTED
        dims = self._indexed_dims(owner.dims, node) if owner.dims is not None else None
        return exactly(
            Tensor(source, owner.boolean, self._data_dim(owner.data_dim, node), owner.on_self and view, dims)
        )

    def _data_dim(self, before: int | None, node: ast.expr) -> int | None:
        """The place of the dim whose size depends on data, after an index: of a mask, of a slice up to a number that
        was read, or where that of the owner goes."""
        taken = given = 0  # dims of the owner that were spoken of, and of the result
        for part in node.elts if isinstance(node, ast.Tuple) else [node]:
            if isinstance(part, ast.Constant) and part.value is ...:
                return None
            if isinstance(part, ast.Constant) and part.value is None:
                given += 1
                continue
            if self._is_data_sized(part) or (isinstance(part, ast.Slice) and before == taken):
                return given
            taken += 1
            given += self._stays(part)
        return given + before - taken if before is not None and before >= taken else None

    def _is_data_sized(self, part: ast.expr) -> bool:
        if isinstance(part, ast.Slice):
            return any(end is not None and self.value(end).is_unbacked for end in (part.lower, part.upper))
        index = self.value(part)
        return index.kind is Kind.TENSOR and ((index.boolean and index.certain) or index.unbacked)

    def _stays(self, part: ast.expr) -> bool:
        """Does the result have a dim for this part of an index? A number takes it away."""
        return isinstance(part, ast.Slice) or self.value(part).kind not in {Kind.SCALAR, Kind.SIZE, Kind.UNBACKED}

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
            return exactly(Shape(self._moved(owner.data_dim, node), self._cut(owner.dims, node)))
        place = extent_of(index)
        if owner.data_dim is not None and place is not None and place.number == owner.data_dim:
            return UNBACKED.because(f"`{ast.unparse(node)}` of `.shape[…]`", node.lineno)
        if owner.dims is None or place is None or place.number is None:
            return SIZE
        return sized(owner.dims[place.number]) if -len(owner.dims) <= place.number < len(owner.dims) else SIZE

    def _moved(self, data_dim: int | None, node: ast.Slice) -> int | None:
        low = extent_of(self.value(node.lower)) if node.lower else None
        start = 0 if node.lower is None else low.number if low else None
        return data_dim - start if data_dim is not None and start is not None and 0 <= start <= data_dim else None

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
