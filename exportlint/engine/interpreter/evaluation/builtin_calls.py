"""Evaluate calls of Python's own functions: `len`, `max`, `zip`, `getattr` …"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import (
    SCALAR,
    SIZE,
    TENSOR,
    UNBACKED,
    UNKNOWN,
    Class,
    Container,
    Scalar,
    Value,
    exactly,
    sized,
)
from exportlint.engine.values.dims.extents import less
from exportlint.engine.values.dims.needs import dims_of, extent_of
from exportlint.engine.values.kinds import Kind

if TYPE_CHECKING:
    from exportlint.engine.interpreter.interface import Interpreter


_SHALLOW = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter", "dict"})
_NUMBERS = frozenset(
    {"len", "int", "float", "bool", "abs", "round", "sum", "min", "max", "pow", "divmod", "range", "any", "all"}
)
_ASKING = frozenset({"filter", "sorted", "min", "max"})


def _of_sizes(name: str, values: list[Value]) -> Value:
    """`int(n)`, `min(n, 8)`, of sizes: the size that it surely is."""
    extents = [extent_of(value) for value in values]
    if name in {"int", "abs"}:
        return values[0]
    if name not in {"min", "max"} or None in extents:
        return SIZE
    sure = [extent for extent in extents if extent is not None]
    for one in sure:
        behind = (less(other, one) if name == "min" else less(one, other) for other in sure)
        if all(answer is False for answer in behind):
            return sized(one)
    return SIZE


class BuiltinCalls:
    """The part of the evaluator that deals with builtins."""

    engine: Interpreter

    def attribute(self, owner: Value, name: str, node: ast.expr) -> Value:
        raise NotImplementedError

    def element_of(self, value: Value) -> Value:
        raise NotImplementedError

    def apply(self, function: Value, args: tuple[Value, ...]) -> Value:
        raise NotImplementedError

    def builtin(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        if name in _ASKING:
            self._ask_each(name, args, keywords)
        if name in _SHALLOW:
            return self._shallow(name, args, keywords)
        if name in {"zip", "enumerate", "map"}:
            return self._pairs(name, args)
        if name in _NUMBERS:
            return self._number(name, args)
        return self._about(name, args) if args else UNKNOWN

    def _shallow(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        container = name if name in {"list", "tuple", "set", "dict"} else "list"
        if args and args[0].container == "dict" and container != "dict":
            return exactly(Container(container, SCALAR))  # its keys
        if name == "dict" and args and args[0].element and len(args[0].element.items or ()) == 2:  # noqa: PLR2004 - pairs
            return exactly(Container("dict", (args[0].element.items or ())[1]))
        if args and args[0].kind is Kind.CONTAINER:
            return (args[0].only(Kind.CONTAINER) or args[0]).but(container=container, source=None, on_self=False)
        element = self.element_of(args[0]) if args else None
        return exactly(Container(container, element, fields=tuple(keywords.items())))

    def _about(self, name: str, args: tuple[Value, ...]) -> Value:
        first = args[0]
        match name:
            case "next":
                return self.element_of(first)
            case "staticmethod" | "classmethod":
                return first
            case "getattr" if len(args) > 1 and args[1].name:
                return self._getattr(first, args[1].name)
            case "type" if len(args) == 1 and (first.cls or first.is_tensor):
                return exactly(Class(first.cls, None if first.cls else "torch.Tensor"))
            case "str" | "repr" | "format":
                return exactly(Scalar("str"))
            case "isinstance" | "hasattr" | "callable" | "issubclass" | "id" | "hash" | "type":
                return exactly(Scalar("bool"))
        return UNKNOWN

    def _length(self, of: Value) -> Value:
        if of.kind is Kind.TENSOR:
            dims = dims_of(of)
            return UNBACKED if of.unbacked else sized(dims[0]) if dims else SIZE
        parts = of.items
        if parts is None or not of.certain:
            return SCALAR
        return exactly(Scalar("int", bool(parts), str(len(parts))))

    def _ask_each(self, name: str, args: tuple[Value, ...], keywords: dict[str, Value]) -> None:
        """`filter(f, xs)` and `sorted(xs, key=f)` call f with each element."""
        function = args[0] if name == "filter" and args else keywords.get("key")
        listed = args[1:] if name == "filter" else args[:1]
        if function is not None and listed:
            self.apply(function, (self.element_of(listed[0]),))

    def _getattr(self, owner: Value, name: str) -> Value:
        if owner.kind is Kind.UNKNOWN and owner.name:
            return self.engine.dotted(f"{owner.name}.{name}")
        return self.attribute(owner, name, ast.Name("getattr", lineno=0))

    def _pairs(self, name: str, args: tuple[Value, ...]) -> Value:
        if name == "map":
            given = tuple(self.element_of(a) for a in args[1:])
            element = self.apply(args[0], given) if args and args[0].function else UNKNOWN
            return exactly(Container("list", element))
        parts = tuple(self.element_of(a) for a in args)
        items = (SCALAR, *parts[:1]) if name == "enumerate" else parts
        return exactly(Container("list", exactly(Container("tuple", items=items))))

    def _number(self, name: str, args: tuple[Value, ...]) -> Value:
        first = args[0] if args else UNKNOWN
        values = [first.element or UNKNOWN] if first.kind is Kind.CONTAINER and name != "len" else list(args)
        if name == "len":
            return self._length(first)
        if name == "bool" and first.kind is Kind.SCALAR:
            return exactly(Scalar("bool", first.truth))
        if name in {"any", "all"}:
            found = next((v for v in values if v.may_be_data), None)
            return SCALAR if found is None else UNBACKED if found.is_data else UNBACKED.doubted()
        if name == "range":
            numbers = any(v.is_data for v in args)
            return exactly(Container("range", SIZE if numbers else SCALAR, unbacked=numbers))
        if any(v.kind is Kind.TENSOR for v in values):
            certain = any(v.is_tensor for v in values)
            whole = UNBACKED if name in {"int", "float", "bool"} else TENSOR
            trail = next(v.trail for v in values if v.kind is Kind.TENSOR)
            return (whole if certain else whole.doubted()).with_trail(trail)
        if found := next((v for v in values if v.kind is Kind.UNBACKED), None):
            return found
        if any(v.kind is Kind.SIZE for v in values):
            return _of_sizes(name, values)
        return SCALAR if all(v.kind in {Kind.SCALAR, Kind.CONFIG} for v in values) else SCALAR.doubted()
