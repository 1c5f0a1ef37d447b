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
        self.values: dict[Span, Value] = {}
        self.dead: set[Span] = set()
        self.alive: set[Span | None] = set()  # statements that ran, be it in one round of a loop only

    def believe(self, node: ast.expr, value: Value) -> None:
        span = span_of(node)
        if span:
            self.values[span] = value

    def believed(self, node: ast.expr) -> Value:
        span = span_of(node)
        return self.values.get(span, UNKNOWN) if span else UNKNOWN

    def mark_unreachable(self, statements: Iterable[ast.AST]) -> None:
        """Note that these statements, or operands, do not run in this context."""
        self.dead.update(s for node in statements if (s := span_of(node)))

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Names bound or narrowed inside are forgotten outside."""
        before = dict(self.names)
        try:
            yield
        finally:
            self.names = before
