"""A function's way through NumPy, written with torch: every array is the tensor that it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.rewriting.operations.torch_for_numpy import (
    BOUNDS,
    DTYPES,
    FUNCTIONS,
    KEYWORDS,
    METHODS,
    SPREADS,
    UNCHANGED,
)
from exportlint.rewriting.source.assigned_names import every, whole_function
from exportlint.rule.editing.repair import Change

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.rule.code import Code


_BACK = frozenset({"torch.from_numpy", "torch.tensor", "torch.as_tensor", "torch.Tensor", "torch.FloatTensor"})

_NUMBERS = {"builtins.float": ".double().item()", "builtins.int": ".long().item()"}


def without_numpy(code: Code, node: cst.CSTNode) -> tuple[Change, ...] | None:
    """Changes of every statement of the function that has to do with arrays; None where one has no name in torch."""
    changes = []
    for statement in _statements(whole_function(code, node)):
        changed = _Translation(code)
        new = statement.visit(changed)
        if changed.unknown:
            return None
        if changed.any:
            changes.append(Change(statement, _text(new)))  # type: ignore[arg-type] # a statement stays one
    return tuple(changes) or None


def _statements(function: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The small statements, and the expressions that compound ones test or go through."""
    for node in every(function):
        if isinstance(node, cst.BaseSmallStatement) and not isinstance(node, cst.Import | cst.ImportFrom):
            yield node
        elif isinstance(node, cst.If | cst.While):
            yield node.test
        elif isinstance(node, cst.For):
            yield node.iter


class _Translation(cst.CSTTransformer):
    def __init__(self, code: Code) -> None:
        super().__init__()
        self._code = code
        self.any = False
        self.unknown = False

    def _is_array(self, node: cst.CSTNode) -> bool:
        """Is it, or does it hold, an array that comes from a tensor?"""
        value = self._code.value(node)
        inner = value.element if value.kind is Kind.CONTAINER else value
        return inner is not None and (inner.kind is Kind.ARRAY or inner.is_tensor)

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        name = self._code.name(original_node.func) or ""
        given = [arg.value for arg in original_node.args]
        if name.startswith("numpy."):
            return self._function(updated_node, name.removeprefix("numpy."), given)
        if name in _NUMBERS and given and self._code.value(given[0]).kind is Kind.ARRAY:
            self.any = True
            return _parsed(f"{_text(_closed(updated_node.args[0].value))}{_NUMBERS[name]}")
        if name in _BACK and given and self._code.value(given[0]).kind is Kind.ARRAY:
            return self._back(updated_node)
        if isinstance(original_node.func, cst.Attribute) and isinstance(updated_node.func, cst.Attribute):
            return self._method(original_node.func, updated_node, updated_node.func)
        return updated_node

    def _method(self, before: cst.Attribute, node: cst.Call, func: cst.Attribute) -> cst.BaseExpression:
        owner, method = self._code.value(before.value), before.attr.value
        if method in {"numpy", "__array__"} and owner.is_tensor:
            self.any = True
            return _without_cpu(func.value)
        if owner.kind is not Kind.ARRAY:
            return node
        self.any = True
        if method == "astype" and node.args:
            dtype = self._dtype(node.args[0].value)
            self.unknown = self.unknown or dtype is None
            return node.with_changes(func=func.with_changes(attr=cst.Name("to")), args=[cst.Arg(_parsed(dtype or "x"))])
        if method in {"tolist", "item", "sum", "mean", *METHODS, *SPREADS} or method in FUNCTIONS:
            new = func.with_changes(attr=cst.Name(METHODS.get(method, method)))
            return node.with_changes(func=new, args=_arguments(node.args, method))
        return node

    def _function(self, node: cst.Call, name: str, given: Sequence[cst.BaseExpression]) -> cst.BaseExpression:
        """Functions of Python numbers alone stay with NumPy."""
        if not any(map(self._is_array, given)):
            return node
        self.any = True
        if name in UNCHANGED:
            return node.args[0].value
        if (dtype := DTYPES.get(name)) is not None:
            return _parsed(f"{_text(node.args[0].value)}.to(torch.{dtype})")
        if name in BOUNDS and not all(map(self._is_array, given)):
            tensor, bound = node.args if self._is_array(given[0]) else node.args[::-1]
            return _parsed(f"torch.clamp({_text(tensor.value)}, {BOUNDS[name]}={_text(bound.value)})")
        if name == "sort":
            return _parsed(f"{_text(_torch(node, 'sort'))}[0]")
        if name == "transpose" and len(node.args) == 1:
            return _parsed(f"{_text(node.args[0].value)}.mT")
        if name in {*BOUNDS, *SPREADS}:
            return _torch(node, name, name)
        self.unknown = self.unknown or name not in FUNCTIONS
        return _torch(node, FUNCTIONS.get(name, name), name)

    def _back(self, node: cst.Call) -> cst.BaseExpression:
        """`torch.from_numpy(array)` is the tensor; a dtype or a device that is given stays."""
        self.any = True
        tensor, *more = node.args
        words = [arg for arg in more if arg.keyword and arg.keyword.value in {"dtype", "device"}]
        inner = tensor.value
        if not words:
            return inner if not isinstance(inner, cst.BinaryOperation) else _closed(inner)
        dims = ", ".join(_text(arg.value) for arg in words)
        return _parsed(f"{_text(_closed(inner))}.to({dims})")

    def _dtype(self, node: cst.BaseExpression) -> str | None:
        match node:
            case cst.SimpleString():
                name = str(node.evaluated_value)
            case cst.Attribute(attr=cst.Name(value=name)) | cst.Name(value=name):
                pass
            case _:
                return None
        if name in {"int", "float"}:
            return {"int": "torch.int64", "float": "torch.float64"}[name]
        return f"torch.{DTYPES[name]}" if name in DTYPES else None

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        """`np.newaxis` is None in an index of an array; dtypes stand as arguments."""
        if self._code.name(original_node) == "numpy.newaxis":
            self.any = True
            return cst.Name("None")
        return updated_node


def _torch(node: cst.Call, name: str, numpy: str = "") -> cst.Call:
    return node.with_changes(func=_parsed(f"torch.{name}"), args=_arguments(node.args, numpy))


def _arguments(args: Sequence[cst.Arg], numpy: str) -> list[cst.Arg]:
    new = [
        arg.with_changes(keyword=cst.Name(KEYWORDS.get(arg.keyword.value, arg.keyword.value))) if arg.keyword else arg
        for arg in args
    ]
    if numpy in SPREADS:
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        new.append(cst.Arg(cst.Integer("0"), keyword=cst.Name("correction"), equal=equal))
    return new


def _without_cpu(node: cst.BaseExpression) -> cst.BaseExpression:
    """`x.detach().cpu()` as `x.detach()`: the way to NumPy needed it."""
    match node:
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value="cpu")), args=[]):
            return inner
    return node


def _closed(node: cst.BaseExpression) -> cst.BaseExpression:
    if node.lpar or isinstance(node, cst.Name | cst.Call | cst.Attribute | cst.Subscript):
        return node
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])


def _parsed(text: str) -> cst.BaseExpression:
    return cst.parse_expression(text)


def _text(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node)
