"""Read a definition without running it: its defaults, a class body, and what attributes are in later calls."""

from __future__ import annotations

import ast
import functools
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import (
    NONE,
    SCALAR,
    UNKNOWN,
    Container,
    NoneObject,
    NumberFromData,
    Scalar,
    Shape,
    Size,
    Super,
    Tensor,
    Unknown,
    Value,
    exactly,
)
from exportlint.engine.values.joining import join
from exportlint.engine.values.kinds import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo
    from exportlint.engine.values.abstract_value import Possibility


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
            return exactly(Scalar(type(value).__name__))
        case ast.Tuple() | ast.List() | ast.Dict():
            return exactly(Container(type(node).__name__.lower()))
        case ast.UnaryOp():
            return SCALAR
    return UNKNOWN


def class_assignments(cls: ClassInfo) -> Iterator[tuple[str, ast.expr]]:
    for node in cls.node.body:
        if isinstance(node, ast.Assign):
            yield from ((t.id, node.value) for t in node.targets if isinstance(t, ast.Name))
        elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
            yield node.target.id, node.value


def class_constants(cls: ClassInfo) -> dict[str, Value]:
    """True, False and numbers of the class body that nothing in the file assigns to on an object."""
    nodes = (n for n in ast.walk(cls.module.tree) if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load))
    written = {n.attr for n in nodes}
    plain = ((n, v.value) for n, v in class_assignments(cls) if isinstance(v, ast.Constant) and n not in written)
    return {n: exactly(Scalar(type(v).__name__, bool(v))) for n, v in plain if isinstance(v, bool | int | float)}


def on_self(names: dict[str, Value], written: Collection[str] | None = None, outlives: bool = True) -> dict[str, Value]:
    """The attributes of an object as later calls meet them. `written`: those that are written after `__init__`, where
    the arguments of `__init__` are known, so that the constants among the others hold. `outlives`: the object was made
    before export, so that its tensors are there in every call."""
    found = {n.removeprefix("self."): v for n, v in names.items() if n.startswith("self.")}
    settled = {n for n in found if written is not None and n not in written}
    return {
        n: v.but(on_self=True) if n in settled and _is_constant(v) else kept(v, n in settled, outlives)
        for n, v in found.items()
    }


def before_export(value: Value) -> Value:
    """A value that a constructor made: what it read from a tensor was a plain number before export began."""
    options = tuple(_before_export(option) for option in value.options)
    return value if options == value.options else functools.reduce(join, map(exactly, options))


def _before_export(option: Possibility) -> Possibility:
    match option:
        case NumberFromData():
            return Scalar(on_self=True)
        case Container(element=element, items=items):
            return replace(
                option,
                element=before_export(element) if element else None,
                items=tuple(map(before_export, items)) if items else items,
            )
    return option


def _is_constant(value: Value) -> bool:
    return all(isinstance(option, Scalar | NoneObject) for option in value.options)


def written_later(cls: ClassInfo) -> frozenset[str]:
    """The attributes that methods other than `__init__` assign to."""
    methods = (m.node for c in cls.lineage for name, m in c.methods.items() if name != "__init__")
    nodes = (node for method in methods for node in ast.walk(method))
    return frozenset(n.attr for n in nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load))


def constructors(cls: ClassInfo) -> list[FunctionInfo]:
    """The `__init__` of the class, and those of its bases that no `super().__init__(…)` leads to."""
    found: list[FunctionInfo] = []
    for base in cls.lineage:
        init = base.methods.get("__init__")
        if init and not any(_hands_on(known.node) for known in found):
            found.append(init)
        elif init is None and (made := base.methods.get("__post_init__")):
            found.append(made)
    return found


@functools.lru_cache(maxsize=256)
def _hands_on(function: ast.AST) -> bool:
    for node in walked(function):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__")):
                return True
    return False


def sets_attributes(function: FunctionInfo) -> bool:
    """Does it, by its text, give its object attributes?"""
    return _sets_attributes(function.node)


@functools.lru_cache(maxsize=256)  # the methods of shared base classes run for each class that inherits them
def _sets_attributes(function: ast.AST) -> bool:
    for node in walked(function):
        match node:
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                return True
            case ast.Attribute(value=ast.Name(id="self"), attr=attr) if attr.startswith(("register_", "add_module")):
                return True
    return False


def kept(value: Value, settled: bool = False, outlives: bool = True) -> Value:
    """How a value looks from later calls: its truth is open, a tensor is an attribute unless it is registered.

    `settled`: nobody writes it later, so that None stays None. `outlives`: as in `on_self`.
    """
    none_stays = settled and len(value.options) > 1
    options = (o if none_stays and isinstance(o, NoneObject) else _kept(o, outlives) for o in value.options)
    return functools.reduce(join, map(exactly, options))


def _kept(option: Possibility, outlives: bool) -> Possibility:
    match option:
        case Tensor() if not outlives:
            return option
        case Tensor(source=source):
            registered = source in {Source.PARAMETER, Source.BUFFER}
            return replace(option, source=source if registered else Source.ATTRIBUTE, on_self=True)
        case NoneObject():
            return Unknown(on_self=True)
        case Container():
            return replace(
                option,
                source=None,
                on_self=True,
                element=kept(option.element, outlives=outlives) if option.element else None,
                items=tuple(kept(item, outlives=outlives) for item in option.items) if option.items else None,
                fields=tuple((k, kept(v, outlives=outlives)) for k, v in option.fields),
            )
        case Scalar():
            return Scalar(option.container, on_self=True)
        case Shape() | Size() | NumberFromData() | Super():
            return option
        case _:
            return replace(option, on_self=True)
