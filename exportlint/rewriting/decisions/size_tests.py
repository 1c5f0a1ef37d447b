"""Tests of sizes, which torch carries along as symbols, as tensors of one bool."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.numbers.rows import as_size
from exportlint.rewriting.source.assigned_names import every, only_value
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_SIZES = frozenset({"numel", "size", "nelement"})
_IDENTITY = (cst.Is, cst.IsNot, cst.In, cst.NotIn)


def size_test(code: Code, node: cst.BaseExpression) -> str | None:
    """`n > 4` of a size as `torch.tensor(n > 4)`; None where something else than sizes is compared."""
    match node:
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            if isinstance(operator, cst.In | cst.NotIn) and _is_size(code, left):
                return _among(code, left, right, negated=isinstance(operator, cst.NotIn))
            sides = (left, right)
            if isinstance(operator, _IDENTITY) or not any(_is_size(code, side) for side in sides):
                return None
            if not all(_is_size(code, side) or _is_number(code, side) for side in sides):
                return None
            text = as_size(code, node)
        case _ if _is_size(code, node):
            text = f"{as_size(code, node)} != 0"
        case _:
            return None
    return f"torch.tensor({text}{_device(code, node)})"


def _among(code: Code, left: cst.BaseExpression, right: cst.BaseExpression, *, negated: bool) -> str | None:
    if not isinstance(right, cst.Tuple | cst.List | cst.Set) or not all(
        _is_number(code, e.value) for e in right.elements
    ):
        return None
    listed = ", ".join(code.source_of(one.value) for one in right.elements)
    device = _device(code, left)
    text = f"torch.isin(torch.tensor({as_size(code, left)}{device}), torch.tensor([{listed}]{device}))"
    return f"torch.logical_not({text})" if negated else text


def size_name_change(code: Code, value: cst.BaseExpression) -> str | None:
    """What a name that is set to a size has to be set to, so that it stays a symbol; None where it is no size."""
    return as_size(code, value) if _is_size(code, value) else None


def _is_number(code: Code, node: cst.BaseExpression) -> bool:
    value = code.value(node)
    plain = isinstance(node, cst.Integer | cst.Float) or value.kind in {Kind.SCALAR, Kind.CONFIG}
    return plain or _is_size(code, node) or (isinstance(node, cst.Attribute) and not value.may_be_data)


def _is_size(code: Code, node: cst.BaseExpression) -> bool:
    match node:
        case cst.Call(func=func, args=[cst.Arg(value=given)]) if code.name(func) == "builtins.len":
            return code.value(given).is_tensor
        case cst.Call(func=cst.Attribute(value=owner)) if called(node) in _SIZES:
            return code.value(owner).is_tensor
        case cst.Subscript(value=cst.Attribute(attr=cst.Name(value="shape"))):
            return True
        case cst.BinaryOperation(left=left, right=right):
            return any(_is_size(code, one) for one in (left, right)) and all(
                _is_number(code, one) for one in (left, right)
            )
        case cst.Name() if not code.value(node).is_tensor:
            value = only_value(code, node)
            return _is_size(code, value) if value is not None else code.value(node).kind is Kind.SIZE
    return code.value(node).kind is Kind.SIZE


def _device(code: Code, node: cst.BaseExpression) -> str:
    """Where the tensor is whose size it is, as an argument."""
    tensor = sized_tensor(code, node)
    return f", device={code.source_of(tensor)}.device" if tensor is not None else ""


def sized_tensor(code: Code, node: cst.CSTNode, depth: int = 4) -> cst.BaseExpression | None:
    """The name, or attribute, of the first tensor whose size is asked for."""
    for one in every(node):
        match one:
            case cst.Call(func=func, args=[cst.Arg(value=owner)]) if code.name(func) == "builtins.len":
                pass
            case cst.Attribute(value=owner, attr=cst.Name(value="shape" | "numel" | "size" | "nelement")):
                pass
            case cst.Name() if depth and (value := only_value(code, one)) is not None and _is_size(code, value):
                return sized_tensor(code, value, depth - 1)
            case _:
                continue
        return owner if isinstance(owner, cst.Name | cst.Attribute) and code.value(owner).is_tensor else None
    return None
