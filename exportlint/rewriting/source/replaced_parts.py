"""The source of statements with other texts in the places of some of their parts."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.rule.code import Code


def text_with(code: Code, node: cst.CSTNode, texts: Mapping[cst.Call, str] | Mapping[cst.CSTNode, str]) -> str:
    """The source of a node with other texts in the places of some nodes in it."""
    start = code.place(node)
    text = code.source_of(node)
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int, column: int) -> int:
        row = line - start.line
        return starts[row] + column - (start.column if row == 0 else 1)

    places = sorted(((code.place(one), new) for one, new in texts.items()), key=lambda pair: pair[0].line, reverse=True)
    places.sort(key=lambda pair: (pair[0].line, pair[0].column), reverse=True)
    for place, new in places:
        text = text[: offset(place.line, place.column)] + new + text[offset(place.end_line, place.end_column) :]
    return text


def block_text(code: Code, lines: Sequence[cst.CSTNode], texts: Mapping[cst.CSTNode, str] | None = None) -> str:
    """Statements, from column 0, with other texts in the places of some nodes."""
    found = []
    for line in lines:
        inside = {one: text for one, text in (texts or {}).items() if is_below(code, one, line)}
        shift = " " * (code.place(line).column - 1)
        moved = {one: text.replace("\n", "\n" + " " * _indent_of(code, one)) for one, text in inside.items()}
        found.append(textwrap.dedent(shift + text_with(code, line, moved)))
    return "\n".join(found)


def _indent_of(code: Code, node: cst.CSTNode) -> int:
    return code.place(node).column - 1 if isinstance(node, cst.BaseStatement) else 0


def is_below(code: Code, node: cst.CSTNode, whole: cst.CSTNode) -> bool:
    now: cst.CSTNode | None = node
    while now is not None and now is not whole:
        now = code.parent(now)
    return now is whole
