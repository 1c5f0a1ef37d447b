"""Find what decorators put into a dictionary of the file: `@register("mean")` above a function or class."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import last_name, walked

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo


def registered(module: ModuleInfo, name: str) -> Iterator[tuple[str | None, FunctionInfo | ClassInfo]]:
    """The functions and classes of the file that its own decorators store in the dictionary `name`, by their keys."""
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
