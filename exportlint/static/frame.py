"""One run of one function, and what is kept of all runs, by position."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from exportlint.static.kinds import UNKNOWN, Value

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.static.project import FunctionInfo

Span = tuple[int, int, int, int]


@dataclass(slots=True)
class Belief:
    """What is known about one file: values by span (ast's byte columns), functions that ran, what never ran."""

    values: dict[Span, Value] = field(default_factory=dict)
    reached: dict[FunctionInfo, None] = field(default_factory=dict)
    dead: dict[Span, int] = field(default_factory=dict)  # span -> in how many contexts it was cut off
    runs: dict[Span, int] = field(default_factory=dict)  # span of a function -> contexts


class Frame:
    """One run of one function."""

    def __init__(self, function: FunctionInfo, names: dict[str, Value]) -> None:
        self.function = function
        self.module = function.module
        self.names = names
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

    def bury(self, statements: Iterable[ast.AST]) -> None:
        """These statements, or operands, do not run in this context."""
        self.dead.update(s for node in statements if (s := span_of(node)))

    @contextmanager
    def branch(self) -> Iterator[None]:
        """Names bound or narrowed inside are forgotten outside."""
        before = dict(self.names)
        try:
            yield
        finally:
            self.names = before


def span_of(node: ast.AST) -> Span | None:
    """Lines and byte columns, as `ast` counts them; None for a node without a place."""
    end = getattr(node, "end_lineno", None)
    if end is None:
        return None
    return (node.lineno, node.col_offset, end, node.end_col_offset)  # type: ignore[attr-defined]
