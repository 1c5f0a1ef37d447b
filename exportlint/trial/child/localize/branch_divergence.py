"""Find the `if` or `except` at which eager and the trace diverge."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.trial.child.loading.edited_files import source_of
from exportlint.trial.protocol.frames import Frame, frame_at

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet


def diverging_branch(frame: Frame, traced: AbstractSet[tuple[str, int]]) -> Frame | None:
    """The `if` around a place that eager reached of which the trace took the other branch; or an `except`.

    An `except` counts where only one of the two entered it. None where there is no such statement.
    """
    lines = {line for path, line in traced if path == frame.path}
    found = (_divergence(statement, frame.line, lines) for statement in _around(frame))
    line = next((line for line in found if line), None)
    return frame_at(frame.path, line, frame.function) if line else None


def catching_handler(frame: Frame) -> Frame | None:
    """The `except` of the innermost try whose body holds the line."""
    for statement in reversed(_around(frame)):
        if isinstance(statement, ast.Try) and statement.handlers and frame.line in _lines(statement.body):
            return frame_at(frame.path, statement.handlers[0].lineno, frame.function)
    return None


def _divergence(statement: ast.stmt, eager: int, traced: set[int]) -> int | None:
    """The line of the statement, if the two diverge there."""
    if isinstance(statement, ast.If):
        taken, other = _lines(statement.body), _lines(statement.orelse)
        if eager in other:
            taken, other = other, taken
        return statement.lineno if eager in taken and not traced & set(taken) and traced & set(other) else None
    for handler in getattr(statement, "handlers", ()):
        here = _lines(handler.body)
        if (eager in here) != bool(traced & set(here)):
            return int(handler.lineno)
    return None


def _around(frame: Frame) -> list[ast.stmt]:
    """The statements with branches that hold the line, the outermost first."""
    try:
        tree = ast.parse(source_of(frame.path))
    except (OSError, SyntaxError, ValueError):
        return []
    holding = (n for n in ast.walk(tree) if isinstance(n, (ast.If, ast.Try)) and frame.line in _lines([n]))
    return sorted(holding, key=lambda node: node.lineno)


def _lines(body: list[ast.stmt]) -> range:
    return range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1) if body else range(0)
