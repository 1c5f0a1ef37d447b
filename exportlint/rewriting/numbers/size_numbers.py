"""Conversions and roundings of sizes that leave them symbols."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.numbers.numbers_of_tensors import as_owner, is_whole
from exportlint.rewriting.numbers.rows import as_size
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


_DOWN = frozenset({"builtins.int", "math.floor", "math.trunc"})
_LOGS = frozenset({"math.log", "math.log2", "math.log10", "math.exp"})


def as_symbol(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`int(x.shape[0] / 2)` as `x.shape[0] // 2`, `math.ceil(n / k)` as `-(-n // k)`."""
    name = code.name(node.func) or ""
    if len(node.args) != 1 and name != "math.pow":
        return
    for written in (_rounded, _converted, _rooted, _by_torch):
        if (change := written(code, node, name, node.args[0].value)) is not None:
            yield Rewrite("leave the size a symbol", (change, ModuleImport("torch")))
            return


def _rounded(code: Code, node: cst.Call, name: str, given: cst.BaseExpression) -> Change | None:
    quotient = _quotient(code, given)
    if name in _DOWN and is_whole(code, given):
        return Change(node, _closed(code, node, given, as_size(code, given)))
    if name in _DOWN and quotient is not None:
        return Change(node, _closed(code, node, None, " // ".join(quotient)))
    if name == "math.ceil" and quotient is not None:
        return Change(node, f"(-(-{quotient[0]} // {quotient[1]}))")
    return None


def _converted(code: Code, node: cst.Call, name: str, given: cst.BaseExpression) -> Change | None:
    size = as_size(code, given)
    if name == "builtins.int":
        return Change(node, f"torch.sym_int({size})")
    if name == "builtins.float" and (root := _root_of(code, node)) is not None:
        return Change(root, f"{_power_base(code, given, size)} ** 0.5")
    return Change(node, f"torch.sym_float({size})") if name == "builtins.float" else None


def _rooted(code: Code, node: cst.Call, name: str, given: cst.BaseExpression) -> Change | None:
    converted = isinstance(given, cst.Call) and code.name(given.func) == "builtins.float"
    if name not in {"math.sqrt", "math.pow"} or converted:
        return None
    power = "0.5" if name == "math.sqrt" else code.source_of(node.args[1].value)
    return Change(node, f"{_power_base(code, given, as_size(code, given))} ** {power}")


def _by_torch(code: Code, node: cst.Call, name: str, given: cst.BaseExpression) -> Change | None:
    if name not in _LOGS:
        return None
    text = f"torch.{name.removeprefix('math.')}(torch.tensor({as_size(code, given)}, dtype=torch.float64))"
    return Change(node, text if _meets_tensor(code, node) else f"{text}.item()")


def _root_of(code: Code, node: cst.Call) -> cst.Call | None:
    """`math.sqrt(…)` around it."""
    above = code.parent(code.parent(node) or node)
    return above if isinstance(above, cst.Call) and code.name(above.func) == "math.sqrt" else None


def _quotient(code: Code, node: cst.BaseExpression) -> tuple[str, str] | None:
    """The parts of a quotient of whole numbers; `n * 0.5` is one, too."""
    match node:
        case cst.BinaryOperation(left=left, operator=cst.Divide(), right=right) if _whole(code, left) and _whole(
            code, right
        ):
            return _part(code, left), _part(code, right)
        case cst.BinaryOperation(left=left, operator=cst.Multiply(), right=cst.Float(value="0.5" | ".5")) if _whole(
            code, left
        ):
            return _part(code, left), "2"
        case cst.BinaryOperation(left=cst.Float(value="0.5" | ".5"), operator=cst.Multiply(), right=right) if _whole(
            code, right
        ):
            return _part(code, right), "2"
    return None


def _whole(code: Code, node: cst.BaseExpression) -> bool:
    value = code.value(node)
    return is_whole(code, node) or (value.kind is Kind.SCALAR and value.container == "int")


def _part(code: Code, node: cst.BaseExpression) -> str:
    text = as_size(code, node)
    return (
        text
        if isinstance(node, cst.Name | cst.Call | cst.Subscript | cst.Attribute | cst.Integer) or node.lpar
        else f"({text})"
    )


def _closed(code: Code, node: cst.Call, given: cst.BaseExpression | None, text: str) -> str:
    """In parentheses where the call stood in a computation."""
    simple = isinstance(given, cst.Name | cst.Call | cst.Subscript | cst.Attribute | cst.Integer)
    inside = isinstance(code.parent(node), cst.BinaryOperation | cst.UnaryOperation | cst.Attribute | cst.Subscript)
    return f"({text})" if inside and not simple else text


def _power_base(code: Code, given: cst.BaseExpression, size: str) -> str:
    return size if as_owner(code, given) == code.source_of(given) else f"({size})"


def _meets_tensor(code: Code, node: cst.Call) -> bool:
    match code.parent(node):
        case cst.BinaryOperation(left=left, operator=operator, right=right) if not isinstance(operator, cst.Power):
            return code.value(right if left is node else left).is_tensor
    return False
