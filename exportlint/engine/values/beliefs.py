"""What the engine knows about one file, by position."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo
    from exportlint.engine.values.abstract_value import Value


Span = tuple[int, int, int, int]


@dataclass(slots=True)
class Belief:
    """What is known about one file: values by span (ast's byte columns), functions that ran, what never ran."""

    values: dict[Span, Value] = field(default_factory=dict)
    reached: dict[FunctionInfo, None] = field(default_factory=dict)
    dead: dict[Span, int] = field(default_factory=dict)  # span -> in how many contexts it was cut off
    sampled: frozenset[ClassInfo] = frozenset()  # classes that were judged by what samples give them, and by no guess
    runs: dict[Span, int] = field(default_factory=dict)  # span of a function -> contexts
    called: set[Span] = field(default_factory=set)  # functions that ran otherwise than for an operator (`torch.cond`)
    declares_dims: bool = False  # did it run for a sample whose `dynamic_shapes` say something?


def span_of(node: ast.AST) -> Span | None:
    """Lines and byte columns, as `ast` counts them; None for a node without a place."""
    end = getattr(node, "end_lineno", None)
    if end is None:
        return None
    return (node.lineno, node.col_offset, end, node.end_col_offset)  # type: ignore[attr-defined]
