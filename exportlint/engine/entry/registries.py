"""Find what decorators put into a dictionary of the file: `@register("mean")` above a function or class."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name, walked
from exportlint.engine.source.symbols import ClassInfo
from exportlint.engine.values import operators
from exportlint.engine.values.abstract_value import Class, Function, exactly

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Value


def with_registered(module: ModuleInfo, name: str, held: Value) -> Value:
    """The dictionary `name` with what decorators of the file put into it."""
    found = [(key, _as_value(what)) for key, what in _registered(module, name)]
    if not found:
        return held
    element = operators.joined((held.element, *(value for _, value in found)))
    fields = {**dict(held.fields), **{key: value for key, value in found if key is not None}}
    return held.but(element=element, fields=tuple(fields.items()))


def _as_value(what: FunctionInfo | ClassInfo) -> Value:
    return exactly(Class(what) if isinstance(what, ClassInfo) else Function(what, name=what.name))


def _registered(module: ModuleInfo, name: str) -> Iterator[tuple[str | None, FunctionInfo | ClassInfo]]:
    """The functions and classes of the file that its own decorators store in the dictionary `name`, by their keys."""
    if not module.parsed.mentions([f"{name}["]):
        return
    stores = {function.name for function in module.functions.values() if _stores(function.node, name)}
    if not stores:
        return
    defined: list[FunctionInfo | ClassInfo] = [*module.functions.values(), *module.classes.values()]
    for decorated in defined:
        for node in getattr(decorated.node, "decorator_list", ()):
            if last_name(node.func if isinstance(node, ast.Call) else node) in stores:
                yield _key(node, decorated.name), decorated


def _stores(node: ast.AST, name: str) -> bool:
    """`NAME[key] = fn`."""
    return any(
        isinstance(part, ast.Subscript)
        and isinstance(part.ctx, ast.Store)
        and isinstance(part.value, ast.Name)
        and part.value.id == name
        for part in walked(node)
    )


def _key(decorator: ast.expr, own: str) -> str | None:
    match decorator:
        case ast.Call(args=[ast.Constant(value=str(key)), *_]):
            return key
        case ast.Call(args=[]) | ast.Name():
            return own
    return None
