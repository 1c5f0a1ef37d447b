"""`and`, `or` and `not` as the values that they give in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from exportlint.rule.code import Code


def chosen_by_truth(code: Code, node: cst.BaseExpression) -> str | None:
    """`a or b` of two tensors that are no tests, as `torch.where(a.bool(), a, b)`; None of anything else."""
    match node:
        case cst.BooleanOperation(left=left, operator=operator, right=right):
            sides = [code.value(one) for one in (left, right)]
            plain = all(isinstance(one, cst.Name | cst.Attribute | cst.Subscript | cst.Call) for one in (left, right))
            if plain and all(one.is_tensor and not one.boolean for one in sides):
                first, second = code.source_of(left), code.source_of(right)
                chosen = (first, second) if isinstance(operator, cst.Or) else (second, first)
                return f"torch.where({first}.bool(), {', '.join(chosen)})"
    return None


def is_python_bool(node: cst.BaseExpression) -> bool:
    """Is what it gives no tensor, whatever its operands are?"""
    match node:
        case cst.UnaryOperation(operator=cst.Not()) | cst.Call():
            return True
        case cst.Comparison(comparisons=parts):
            return any(isinstance(one.operator, cst.In | cst.NotIn) for one in parts)
    return False
