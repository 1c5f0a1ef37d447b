"""The text of a number that stands in a tensor: as a tensor, or as a symbol that export carries along."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.source.assigned_names import only_value
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_CLOSED = (cst.Name, cst.Call, cst.Attribute, cst.Subscript, cst.List, cst.Tuple)
_GIVE_WHOLE = frozenset({"argmax", "argmin", "argsort", "count_nonzero", "bincount", "long", "int", "numel", "nonzero"})
_KEEP = frozenset(
    {"max", "min", "amax", "amin", "sum", "prod", "cumsum", "abs", "clamp", "view", "reshape", "flatten", "squeeze"}
    | {"unsqueeze", "item", "tolist", "detach", "cpu", "clone", "contiguous", "unique", "maximum", "minimum"}
)
_GIVE_FLOAT = frozenset(
    {
        "mean",
        "std",
        "var",
        "norm",
        "sqrt",
        "rsqrt",
        "exp",
        "log",
        "sigmoid",
        "tanh",
        "softmax",
        "float",
        "double",
        "sin",
    }
    | {"cos", "softplus", "log_softmax", "rand", "randn"}
)
_WHOLE_OPERATORS = (cst.Add, cst.Subtract, cst.Multiply, cst.FloorDivide, cst.Modulo)


def as_owner(code: Code, node: cst.BaseExpression) -> str:
    """The source of an expression as something to call a method of."""
    text = code.source_of(node)
    return text if isinstance(node, _CLOSED) else f"({text})"


def as_operand(code: Code, node: cst.BaseExpression) -> str:
    """The source of an expression as a part of a computation."""
    return code.source_of(node) if isinstance(node, cst.BaseNumber) else as_owner(code, node)


def read_from(code: Code, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """The tensor whose value the expression is: a tensor itself, or `t` of `t.item()`, `int(t)` and `float(t)`."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="item")), args=[]):
            return owner if code.value(owner).is_tensor else None
    return node if code.value(node).is_tensor else None


def is_whole(code: Code, node: cst.BaseExpression, depth: int = 6) -> bool:
    """Can the code tell that the elements of a tensor, or a number, are integers (and no bools)?"""
    if depth == 0:
        return False
    match node:
        case cst.Integer():
            return True
        case cst.Name():
            value = only_value(code, node)
            return value is not None and is_whole(code, value, depth - 1)
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            wholes = is_whole(code, left, depth - 1) and is_whole(code, right, depth - 1)
            return wholes and isinstance(operator, _WHOLE_OPERATORS)
        case cst.UnaryOperation(operator=cst.Minus(), expression=inner):
            return is_whole(code, inner, depth - 1)
        case cst.Call():
            return _is_whole_call(code, node, depth - 1)
        case cst.Subscript(value=owner) if code.value(owner).is_tensor:
            return is_whole(code, owner, depth - 1)
    return code.value(node).kind is Kind.SIZE


def _is_whole_call(code: Code, node: cst.Call, depth: int) -> bool:
    name, method = code.name(node.func) or "", called(node) or ""
    if method in _GIVE_WHOLE or name in {"builtins.len", "builtins.int", "torch.sym_int"}:
        return True
    given = _subject(code, node)
    if given is None:
        return code.value(node).kind is Kind.SIZE
    if method == "sum" and code.value(given).boolean:
        return True
    return code.value(node).kind is Kind.SIZE or (method in _KEEP and is_whole(code, given, depth))


def _subject(code: Code, node: cst.Call) -> cst.BaseExpression | None:
    """The tensor that a method or a function of torch works on."""
    if isinstance(node.func, cst.Attribute) and not (code.name(node.func) or "").startswith(("torch.", "builtins.")):
        return node.func.value
    return node.args[0].value if node.args and not node.args[0].star else None


def is_float(code: Code, node: cst.BaseExpression) -> bool:
    """Can the code tell that the elements have a fraction?"""
    match node:
        case cst.Call():
            subject = _subject(code, node)
            kept = called(node) in _KEEP and subject is not None and is_float(code, subject)
            return called(node) in _GIVE_FLOAT or kept
        case cst.BinaryOperation(left=left, operator=operator, right=right):
            return isinstance(operator, cst.Divide) or is_float(code, left) or is_float(code, right)
    return isinstance(node, cst.Float)


def as_whole_tensor(code: Code, tensor: cst.BaseExpression) -> str:
    """What `int(t)` holds, as a tensor."""
    return as_owner(code, tensor) if is_whole(code, tensor) else f"{as_owner(code, tensor)}.long()"


def as_whole_number(code: Code, tensor: cst.BaseExpression) -> str:
    """`int(t)` as a symbol."""
    return f"{as_whole_tensor(code, tensor)}.item()"


def as_wide_tensor(code: Code, tensor: cst.BaseExpression) -> str:
    """The same as Python's floats."""
    return f"{as_owner(code, tensor)}.double()"


def as_float_number(code: Code, tensor: cst.BaseExpression) -> str:
    """`float(t)` as a symbol."""
    return f"{as_owner(code, tensor)}.item()" if is_float(code, tensor) else f"{as_wide_tensor(code, tensor)}.item()"


def meets_tensor(code: Code, node: cst.BaseExpression) -> bool:
    """Is it computed or compared with a tensor right where it stands, which takes a tensor as well?

    Not as an exponent: a tensor of exponents is rounded differently.
    """
    match code.parent(node):
        case cst.BinaryOperation(left=left, operator=operator, right=right) if not isinstance(operator, cst.Power):
            return code.value(right if left is node else left).is_tensor
        case cst.ComparisonTarget(operator=operator) as target if not isinstance(operator, cst.Is | cst.IsNot | cst.In):
            whole = code.parent(target)
            return isinstance(whole, cst.Comparison) and code.value(whole.left).is_tensor
    return False
