"""Read in the source which name a call of export is given as its model."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from exportlint.finding import Finding


def given_model(path: str, call: Finding) -> str | None:
    """The name; None where the model is no plain name, or the finding does not mark a call."""
    try:
        text = Path(path).read_text("utf-8")
        nodes = ast.walk(ast.parse(text))
    except (OSError, SyntaxError, ValueError):
        return None
    lines = text.split("\n")
    marked = (call.line, call.column, call.end_line, call.end_column)
    calls = (node for node in nodes if isinstance(node, ast.Call) and _span(node, lines) == marked)
    return next(map(_model, calls), None)


def _span(node: ast.Call, lines: list[str]) -> tuple[int, int, int, int]:
    """As findings count: columns are characters, from 1."""
    start, end = (node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0)
    first, last = (len(lines[line - 1].encode()[:offset].decode()) + 1 for line, offset in (start, end))
    return node.lineno, first, end[0], last


def _model(call: ast.Call) -> str | None:
    given = [*call.args[:1], *(one.value for one in call.keywords if one.arg == "mod")]
    return given[0].id if given and isinstance(given[0], ast.Name) else None
