"""Hold what one run of one function knows: its names, what it returned, and the value of each expression."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import UNKNOWN, Value
from exportlint.engine.values.beliefs import Span, span_of

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable, Iterator

    from exportlint.engine.source.symbols import FunctionInfo


class Environment:
    """What one run of one function knows."""

    def __init__(self, function: FunctionInfo, names: dict[str, Value]) -> None:
        self.function = function
        self.module = function.module
        self.names = names
        self.earlier: dict[str, Value] = {}  # what attributes and items held before they were assigned
        self.returned: list[Value] = []
        self.yielded: list[Value] = []
        self.values: dict[ast.expr, Value] = {}
        self.dead: set[ast.AST] = set()
        self.alive: set[ast.AST] = set()  # statements that ran, be it in one round of a loop only

    def believe(self, node: ast.expr, value: Value) -> None:
        self.values[node] = value

    def believed(self, node: ast.expr) -> Value:
        return self.values.get(node, UNKNOWN)

    def beliefs(self) -> dict[Span, Value]:
        """What each expression was, by its place. (The parts of an f-string stand where the whole does, which wins.)"""
        return {
            (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0): value
            for node, value in self.values.items()
        }

    def unreached(self) -> set[Span]:
        """The places of statements and operands that did not run."""
        return {span for node in self.dead - self.alive if (span := span_of(node))}

    def mark_unreachable(self, statements: Iterable[ast.AST]) -> None:
        """Note that these statements, or operands, do not run in this context."""
        self.dead.update(statements)

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Names bound or narrowed inside are forgotten outside."""
        before = dict(self.names)
        try:
            yield
        finally:
            self.names = before
