"""A Python function of one element as an expression of whole tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.source_of_calls import operand
from exportlint.rewriting.source.substituted import substituted
from exportlint.rule.editing.repair import Change, ModuleImport

if TYPE_CHECKING:
    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_FUNCTIONS = frozenset({
    "exp", "log", "log1p", "expm1", "sqrt", "sin", "cos", "tan", "tanh", "sinh", "cosh", "atan", "erf", "floor", "ceil",
})  # fmt: skip
_ARITHMETIC = (cst.Add, cst.Subtract, cst.Multiply, cst.Divide, cst.Power, cst.Modulo, cst.FloorDivide)


def as_tensor_function(code: Code, node: cst.Call) -> tuple[AnyChange, ...]:
    """`x.clone().apply_(lambda v: v * 2)` as `x * 2`, `a.map_(b, lambda …)` likewise."""
    function = node.args[-1].value if node.args else None
    if not isinstance(node.func, cst.Attribute) or not isinstance(function, cst.Lambda):
        return ()
    tensor = node.func.value
    cloned = _cloned(tensor)
    fresh, read = cloned is not None, cloned or tensor
    operands = [operand(code, one) for one in (read, *(arg.value for arg in node.args[:-1]))]
    names = [one.name.value for one in function.params.params]
    if len(names) != len(operands) or not (fresh or isinstance(tensor, cst.Name)):
        return ()
    text = _tensor_text(code, function.body, dict(zip(names, operands, strict=True)))
    if text is None:
        return ()
    whole = text if fresh else f"{operand(code, tensor)}.copy_({text})"
    return (Change(node, whole), ModuleImport("torch"))


def _cloned(node: cst.BaseExpression) -> cst.BaseExpression | None:
    """`x` of `x.clone()`."""
    match node:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="clone")), args=[]):
            return inner
    return None


def _tensor_text(code: Code, node: cst.BaseExpression, tensors: dict[str, str]) -> str | None:
    """None where a part of it means something else for tensors."""

    def part(one: cst.BaseExpression) -> str | None:
        return _tensor_text(code, one, tensors)

    match node:
        case cst.Name() | cst.Integer() | cst.Float():
            return substituted(node, tensors)
        case cst.BinaryOperation(left=left, operator=operator, right=right) if isinstance(operator, _ARITHMETIC):
            both = part(left), part(right)
            return f"({both[0]}{cst.Module([]).code_for_node(operator)}{both[1]})" if all(both) else None
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            text = part(inner)
            return text and f"(-{text})"
        case cst.Comparison(left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]):
            both = part(left), part(right)
            return f"({both[0]}{cst.Module([]).code_for_node(operator)}{both[1]})" if all(both) else None
        case cst.IfExp(test=cst.Comparison() as test, body=body, orelse=orelse):
            three = [part(one) for one in (test, body, orelse)]
            return f"torch.where({', '.join(one or '' for one in three)})" if all(three) else None
        case cst.Call(func=func, args=[cst.Arg(value=inner)]):
            module, _, name = (code.name(func) or "").rpartition(".")
            text = part(inner)
            known = (module == "math" and name in _FUNCTIONS) or (module, name) == ("builtins", "abs")
            return f"torch.{name}({text})" if known and text else None
    return None
