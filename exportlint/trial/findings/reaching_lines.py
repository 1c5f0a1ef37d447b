"""Find the lines of a function that reach another: the cause of a failure often stands above the line that shows it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def reaching_lines(path: str, line: int) -> list[int]:
    """The lines above, in the same function, that assign what the line uses, and what those use; the nearest first."""
    function = function_around(path, line)
    if function is None:
        return []
    statements = [one for one in ast.walk(function) if isinstance(one, ast.stmt) and one is not function]
    wanted: set[str] = set()
    found: list[int] = []
    for statement in sorted(statements, key=lambda one: -one.lineno):
        here = _header(statement)
        if statement.lineno <= line <= (statement.end_lineno or line) and here.start <= line < here.stop:
            wanted |= set(_names(statement, ast.Load))
        elif statement.lineno < line and wanted & set(_names(statement, ast.Store)):
            found.append(statement.lineno)
            wanted |= set(_names(statement, ast.Load))
    return found


def _header(statement: ast.stmt) -> range:
    """The lines of the statement without those of its body."""
    body = getattr(statement, "body", None)
    last = body[0].lineno - 1 if body else (statement.end_lineno or statement.lineno)
    return range(statement.lineno, max(last, statement.lineno) + 1)


def _names(statement: ast.stmt, context: type[ast.expr_context]) -> Iterator[str]:
    """Names and `self.attribute`s that the statement itself, its body left out, reads or writes."""
    body = {id(inner) for part in ("body", "orelse", "finalbody", "handlers") for inner in getattr(statement, part, ())}
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, context):
            yield ast.unparse(node)
        if isinstance(node, ast.AugAssign):
            yield ast.unparse(node.target)
        waiting += [child for child in ast.iter_child_nodes(node) if id(child) not in body]


def function_around(path: str, line: int) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """The innermost function that holds the line."""
    holding = [one for one in _functions(path) if one.lineno <= line <= (one.end_lineno or 0)]
    return max(holding, key=lambda one: one.lineno, default=None)


@cache
def _functions(path: str) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]:
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    return tuple(node for node in ast.walk(tree) if isinstance(node, _FUNCTIONS))
