"""The statement that a place of a file stands in, written in one way however it is formatted."""

from __future__ import annotations

import ast
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What belongs to a compound statement and is told as statements of its own.
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Statement:
    """within: the qualified name of the definition that it stands in, "" at the top level; digest: of its plain text,
    "" where the file does not parse."""

    within: str
    digest: str


class Statements:
    """Of one text; asked by line and column, both from 1.

    >>> short = Statements("def f():\\n    return (x)")
    >>> long = Statements("def f():\\n    # why\\n\\n    return x  # so")
    >>> short.at(2, 5) == long.at(4, 5), short.at(2, 5).within
    (True, 'f')
    """

    def __init__(self, text: str) -> None:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # it is judged by its lines alone
            tree = ast.Module([], [])
        self._found = list(_walked(tree, ()))
        self._digests: dict[ast.AST, str] = {}

    def at(self, line: int, column: int) -> Statement:
        """The innermost statement there; of a compound one, its head."""
        here = (line, column - 1)
        around = [one for one in self._found if one.start <= here and one.last >= line]
        if not around:
            return Statement("", "")
        inner = max(around, key=lambda one: one.start)
        return Statement(".".join(inner.names), self._digest(inner.node))

    def _digest(self, node: ast.stmt | ast.excepthandler) -> str:
        if node not in self._digests:
            try:
                plain = ast.unparse(_head(node))
            except (RecursionError, ValueError):
                plain = ""
            self._digests[node] = hashlib.sha256(plain.encode("utf-8", "replace")).hexdigest()[:_DIGITS]
        return self._digests[node]


@dataclass(frozen=True, slots=True)
class _Found:
    node: ast.stmt | ast.excepthandler
    names: tuple[str, ...]
    start: tuple[int, int] = field(default=(0, 0))
    last: int = 0


def _walked(node: ast.AST, names: tuple[str, ...]) -> Iterator[_Found]:
    for child in ast.iter_child_nodes(node):
        inside = names
        if isinstance(child, (ast.stmt, ast.excepthandler)):
            start = (child.lineno, child.col_offset)
            if isinstance(child, _DEFINITIONS):
                inside = (*names, child.name)
                start = min([start, *((one.lineno, 0) for one in child.decorator_list)])
            yield _Found(child, inside, start, child.end_lineno or child.lineno)
        if isinstance(child, (ast.stmt, ast.excepthandler, ast.match_case)):
            yield from _walked(child, inside)


def _head(node: ast.stmt | ast.excepthandler) -> ast.AST:
    """A copy without the statements inside of it."""
    empty = {name: [ast.Pass()] if name == "body" else [] for name in _BODIES if name in node._fields}
    if not empty:
        return node
    parts = {name: empty.get(name, getattr(node, name)) for name in node._fields}
    return ast.copy_location(type(node)(**parts), node)
