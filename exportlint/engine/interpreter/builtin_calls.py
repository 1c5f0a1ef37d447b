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
)
from exportlint.engine.values.kinds import Kind

if TYPE_CHECKING:
    from exportlint.engine.interpreter.interface import Interpreter


_SHALLOW = frozenset({"list", "tuple", "set", "frozenset", "sorted", "reversed", "iter", "filter", "dict"})
_NUMBERS = frozenset(
    {"len", "int", "float", "bool", "abs", "round", "sum", "min", "max", "pow", "divmod", "range", "any", "all"}
)
_ASKING = frozenset({"filter", "sorted", "min", "max"})


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
        first = args[0] if args else UNKNOWN
        if name in _ASKING:
            self._ask_each(name, args, keywords)
        if name in _SHALLOW:
            container = name if name in {"list", "tuple", "set", "dict"} else "list"
            if first.kind is Kind.CONTAINER:
                return (first.only(Kind.CONTAINER) or first).but(container=container, source=None, on_self=False)
            element = self.element_of(first) if args else None
            return exactly(Container(container, element, fields=tuple(keywords.items())))
        if name in {"zip", "enumerate", "map"}:
            return self._pairs(name, args)
        if name == "getattr" and len(args) > 1 and args[1].name:
            return self._getattr(first, args[1].name)
        if name == "bool" and first.kind is Kind.SCALAR:
            return exactly(Scalar("bool", first.truth))
        if name == "type" and len(args) == 1 and first.cls:
            return exactly(Class(first.cls))
        if name in _NUMBERS:
            return self._number(name, args)
        if name in {"isinstance", "hasattr", "callable", "issubclass", "str", "repr", "id", "hash", "type", "format"}:
            return exactly(Scalar("str" if name in {"str", "repr", "format"} else "bool"))
        return UNKNOWN

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
            return (UNBACKED if first.unbacked else SIZE) if first.kind is Kind.TENSOR else SCALAR
        if name in {"any", "all"}:
            return UNBACKED if any(v.is_data for v in values) else SCALAR
        if name == "range":
            numbers = any(v.is_data for v in args)
            return exactly(Container("range", SIZE if numbers else SCALAR, unbacked=numbers))
        if any(v.kind is Kind.TENSOR for v in values):
            certain = any(v.is_tensor for v in values)
            whole = UNBACKED if name in {"int", "float", "bool"} else TENSOR
            trail = next(v.trail for v in values if v.kind is Kind.TENSOR)
            return (whole if certain else whole.doubted()).with_trail(trail)
        for kind in (Kind.UNBACKED, Kind.SIZE):
            if found := next((v for v in values if v.kind is kind), None):
                return found
        return SCALAR if all(v.kind in {Kind.SCALAR, Kind.CONFIG} for v in values) else SCALAR.doubted()
