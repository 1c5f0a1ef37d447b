"""What an expression demands of the sizes of its operands, by what the engine knows of their dims."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.shapes import (
    NEW_DIM,
    Demand,
    Piece,
    broadcast,
    dims_of,
    effect,
    extent_of,
    indexed,
    layer_effect,
    matmul,
)
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from exportlint.engine.values.abstract_value import Value
    from exportlint.engine.values.extents import Extent
    from exportlint.rule.code import Code


_ELEMENTWISE = frozenset({"Add", "Subtract", "Multiply", "Divide", "FloorDivide", "Power", "BitAnd", "BitOr"})


def demands_of(code: Code, node: cst.CSTNode) -> tuple[Demand, ...]:
    """What torch asks of the dims of an operation's operands: nothing where they are not known.

    >>> from exportlint.testing import code_of
    >>> demands_of(code_of("x = 1 + 2"), cst.parse_expression("1 + 2"))
    ()
    """
    match node:
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            return _of_operator(code.value(left), operator, code.value(right))
        case cst.Comparison(left=left, comparisons=others):
            return _paired([code.value(left), *(code.value(other.comparator) for other in others)])
        case cst.Call():
            return _of_call(code, node)
        case cst.Subscript(value=owner, slice=parts):
            return _of_index(code, code.value(owner), [part.slice for part in parts])
    return ()


def _of_operator(left: Value, operator: cst.BaseBinaryOp, right: Value) -> tuple[Demand, ...]:
    if isinstance(operator, cst.MatrixMultiply):
        return matmul(dims_of(left), dims_of(right)).demands
    return _paired([left, right]) if type(operator).__name__ in _ELEMENTWISE else ()


def _paired(sides: list[Value]) -> tuple[Demand, ...]:
    return broadcast(map(dims_of, sides)).demands if all(side.is_tensor for side in sides) else ()


def _of_call(code: Code, node: cst.Call) -> tuple[Demand, ...]:
    if any(arg.star for arg in node.args):
        return ()
    args = tuple(code.value(arg.value) for arg in node.args if not arg.keyword)
    words = {arg.keyword.value: code.value(arg.value) for arg in node.args if arg.keyword}
    if (layer := layer_effect(code.value(node.func), args)).demands:
        return layer.demands
    if not (code.name(node.func) or "").startswith("torch."):
        owner = code.value(node.func.value) if isinstance(node.func, cst.Attribute) else None
        if owner is None or not owner.is_tensor:
            return ()
        args = (owner, *args)
    return effect(called(node) or "", args, words).demands


def _of_index(code: Code, owner: Value, parts: list[cst.BaseSlice]) -> tuple[Demand, ...]:
    dims, pieces = dims_of(owner), [_piece(code, part) for part in parts]
    known = [piece for piece in pieces if piece is not None]
    return indexed(dims, known).demands if dims is not None and len(known) == len(pieces) else ()


def _piece(code: Code, part: cst.BaseSlice) -> Piece | Extent | None:
    match part:
        case cst.Slice(lower=lower, upper=upper, step=None):
            low, high = (extent_of(code.value(end)) if end else None for end in (lower, upper))
            known = (low is not None or lower is None) and (high is not None or upper is None)
            return Piece(low, high) if known else None
        case cst.Index(value=cst.Name(value="None")):
            return NEW_DIM
        case cst.Index(value=index):
            return extent_of(code.value(index))
    return None
