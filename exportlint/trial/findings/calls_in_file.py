"""Find the functions of a file, and which of them are called from given lines only."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from collections.abc import Set as AbstractSet


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, eq=False)
class Defined:
    """`home`: the class of a method, the function around an inner one; None: the file. `inner`: functions inside."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    home: ast.AST | None
    inner: tuple[ast.FunctionDef | ast.AsyncFunctionDef, ...]


class CallsInFile:
    """The functions of one file, and who names them."""

    def __init__(self, tree: ast.Module) -> None:
        self.functions = list(_functions(tree, None))
        self._classes = {node.name: node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}

    def called_only_from(self, lines: AbstractSet[int], entered: Iterable[Defined]) -> Iterator[tuple[Defined, int]]:
        """The functions that these lines call, and nothing else of what was `entered`; with the first of the calls.

        What they call in turn comes after them.
        """
        readers, dead = list(entered), set(lines)
        known = {id(one) for one in readers}
        while True:
            fresh = [pair for pair in self._called(readers, dead) if id(pair[0]) not in known]
            if not fresh:
                return
            yield from fresh
            for function, _ in fresh:
                known.add(id(function))
                readers.append(function)
                dead.update(range(function.node.lineno, (function.node.end_lineno or 0) + 1))

    def _called(self, readers: list[Defined], dead: AbstractSet[int]) -> list[tuple[Defined, int]]:
        """Those that are named in dead lines only, and called there."""
        named: dict[int, tuple[Defined, list[int]]] = {}
        called: set[int] = set()
        for reader in readers:
            for node, is_called in _names(reader):
                if (function := self._meant(node, reader)) is not None:
                    named.setdefault(id(function), (function, []))[1].append(node.lineno)
                    called.update([id(function)] if is_called else [])
        return [(function, min(at)) for key, (function, at) in named.items() if key in called and dead >= set(at)]

    def _meant(self, node: ast.expr, reader: Defined) -> Defined | None:
        match node:
            case ast.Name(id=name):
                homes: list[ast.AST | None] = [reader.node, None]
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                homes = list(self._bases(reader.home))
            case _:
                return None
        found = {one.home: one for one in reversed(self.functions) if one.node.name == name}
        return next((found[home] for home in homes if home in found), None)

    def _bases(self, cls: ast.AST | None, depth: int = 8) -> Iterator[ast.AST]:
        """The class and its bases, as far as they stand in the file."""
        if isinstance(cls, ast.ClassDef) and depth:
            yield cls
            for base in cls.bases:
                yield from self._bases(self._classes.get(getattr(base, "id", "")), depth - 1)


def _functions(node: ast.AST, home: ast.AST | None) -> Iterator[Defined]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            inner = tuple(one for one in ast.walk(child) if isinstance(one, _FUNCTIONS) and one is not child)
            yield Defined(child, home, inner)
            yield from _functions(child, child)
        else:
            yield from _functions(child, child if isinstance(child, ast.ClassDef) else home)


def _names(reader: Defined) -> Iterator[tuple[ast.expr, bool]]:
    """The names and attributes that a function reads, what stands in functions inside of it left out; is it a call?"""
    waiting: list[ast.AST] = list(reader.node.body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, _FUNCTIONS):
            continue
        callee = node.func if isinstance(node, ast.Call) else None
        if isinstance(callee, (ast.Name, ast.Attribute)):
            yield callee, True
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            yield node, False
        waiting += [child for child in ast.iter_child_nodes(node) if child is not callee]
        waiting += list(ast.iter_child_nodes(callee)) if callee is not None else []
