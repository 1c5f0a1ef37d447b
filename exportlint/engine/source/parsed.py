"""A parsed file: its text, its syntax tree, and the indexes of the tree that several readers need."""

from __future__ import annotations

import ast
from collections import defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_Made = TypeVar("_Made")

_IMPORTS = (ast.Import, ast.ImportFrom)
# What holds statements, or what holds those (`match_case`, `ExceptHandler`).
_BODIES = ("body", "handlers", "orelse", "finalbody", "cases")
_PLACELESS = (ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)
_NODES = frozenset(
    kind for kind in vars(ast).values()
    if isinstance(kind, type) and issubclass(kind, ast.AST) and not issubclass(kind, _PLACELESS)
)  # fmt: skip


@dataclass(eq=False)
class Parsed:
    """The text and the syntax tree of a file, and what several readers need of them.

    syntax   what a parser of ours made of a function's text, for the next file that runs the function

    >>> parsed = Parsed(ast.parse("x = f(g(1))"), "x = f(g(1))")
    >>> len(parsed.by_type(parsed.tree)[ast.Call])
    2
    """

    tree: ast.Module
    text: str = ""
    syntax: dict[ast.AST, object] = field(default_factory=dict)
    _kept: dict[tuple[object, ast.AST], Any] = field(default_factory=dict)
    _by_type: dict[ast.AST, dict[type[ast.AST], list[ast.AST]]] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def imports(self) -> tuple[ast.Import | ast.ImportFrom, ...]:
        """Those inside of functions and classes too."""
        return tuple(node for node in _statements(self.tree) if isinstance(node, _IMPORTS))

    def by_type(self, part: ast.AST) -> Mapping[type[ast.AST], Sequence[ast.AST]]:
        """`part` and all below it by type, each type in the order of `ast.walk`; walked once."""
        if part not in self._by_type:
            self._by_type[part] = found = defaultdict[type[ast.AST], list[ast.AST]](list)
            for node in walked(part):
                found[node.__class__].append(node)
        return self._by_type[part]

    def kept(self, part: ast.AST, make: Callable[[Parsed, ast.AST], _Made]) -> _Made:
        """What `make` makes of a part of the tree; made once."""
        key = (make, part)
        if key not in self._kept:
            self._kept[key] = make(self, part)
        found: _Made = self._kept[key]
        return found

    def mentions(self, words: Iterable[str]) -> bool:
        """Does one of the words occur? Most trees need no walk to show that they call nothing of a kind."""
        return not self.text or any(word in self.text for word in words)

    def forget(self) -> None:
        """What was made of the tree is made again when somebody asks."""
        self.syntax.clear()
        self._by_type.clear()
        self._kept.clear()


def walked(root: ast.AST) -> list[ast.AST]:
    """`ast.walk` without operators and contexts, which are shared and stand nowhere; several times faster."""
    found = [root]
    for node in found:
        for value in vars(node).values():
            kind = value.__class__
            if kind is list:
                found += [part for part in value if part.__class__ in _NODES]
            elif kind in _NODES:
                found.append(value)
    return found


def last_name(node: ast.expr) -> str:
    """The last name of a name or an attribute; empty for anything else.

    >>> last_name(ast.parse("F.relu", mode="eval").body)
    'relu'
    """
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _statements(root: ast.AST) -> Iterator[ast.stmt]:
    """All below a module, level by level; expressions are not walked."""
    todo: list[ast.AST] = [root]
    for node in todo:
        for name in _BODIES:
            todo += getattr(node, name, ())
        if isinstance(node, ast.stmt):
            yield node
