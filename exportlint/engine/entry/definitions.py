"""Read a definition without running it: its defaults, a class body, and what attributes are in later calls."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import NONE, SCALAR, UNKNOWN, Kind, Source, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ClassInfo


def nothing() -> ast.Lambda:
    """The body of a scope that is no function: a module, a class."""
    return ast.Lambda(
        args=ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[]), body=ast.Constant(None)
    )


def defaults(node: ast.AST) -> list[tuple[str, ast.expr]]:
    spec: ast.arguments = node.args  # type: ignore[attr-defined]
    positional = [*spec.posonlyargs, *spec.args]
    pairs = list(zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True))
    pairs += [(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if d is not None]
    return [(a.arg, d) for a, d in pairs]


def of_default(node: ast.expr) -> Value:
    match node:
        case ast.Constant(value=None):
            return NONE
        case ast.Constant(value=value):
            return replace(SCALAR, container=type(value).__name__)
        case ast.Tuple() | ast.List() | ast.Dict():
            return Value(Kind.CONTAINER, container=type(node).__name__.lower())
        case ast.UnaryOp():
            return SCALAR
    return UNKNOWN


def class_assignments(cls: ClassInfo) -> Iterator[tuple[str, ast.expr]]:
    for node in cls.node.body:
        if isinstance(node, ast.Assign):
            yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def on_self(names: dict[str, Value]) -> dict[str, Value]:
    return {n.removeprefix("self."): kept(v) for n, v in names.items() if n.startswith("self.")}


def kept(value: Value) -> Value:
    """What a value is in later calls: its truth is open, a tensor is an attribute unless it is registered."""
    if value.kind is Kind.TENSOR:
        registered = value.source in {Source.PARAMETER, Source.BUFFER}
        return replace(value, source=value.source if registered else Source.ATTRIBUTE, trail=(), on_self=True)
    if value.kind is Kind.NONE:
        return Value(Kind.UNKNOWN, on_self=True)
    if value.kind is Kind.CONTAINER:
        element = kept(value.element) if value.element else None
        items = tuple(map(kept, value.items)) if value.items else None
        return replace(
            value,
            source=None,
            on_self=True,
            element=element,
            items=items,
            fields=tuple((k, kept(v)) for k, v in value.fields),
        )
    return replace(
        value, truth=None, name=value.name if value.kind is not Kind.SCALAR else None, on_self=True, trail=()
    )
