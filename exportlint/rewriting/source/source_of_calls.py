"""The source of calls and of their parts, as it goes into another place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_CLOSED = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.List, cst.Dict, cst.SimpleString, cst.Float)


def operand(code: Code, node: cst.BaseExpression) -> str:
    """The source of an expression, in parentheses where `.method()` behind it would bind tighter than it does."""
    text = code.source_of(node)
    return text if isinstance(node, _CLOSED) else f"({text})"


def argument(call: cst.Call, keyword: str, place: int | None = None) -> cst.BaseExpression | None:
    """What is given by that keyword, or at that place (from 0); None where neither is."""
    if any(arg.star for arg in call.args):
        return None
    words = {arg.keyword.value: arg.value for arg in call.args if arg.keyword}
    places = [arg.value for arg in call.args if not arg.keyword]
    return words.get(keyword) or (places[place] if place is not None and place < len(places) else None)


def without_argument(code: Code, call: cst.Call, keyword: str) -> str:
    """The source of a call without the argument of that keyword, and without the comma that it needs."""
    index = next(i for i, arg in enumerate(call.args) if arg.keyword and arg.keyword.value == keyword)
    arg = call.args[index]
    if index:
        start, end = _end(code, call.args[index - 1].value), _end(code, arg.value)
    elif len(call.args) > 1:
        start, end = _start(code, arg), _start(code, call.args[1])
    else:
        start, end = _start(code, arg), _end(code, arg.value)
    text, first = code.source_of(call), code.place(call)
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)

    def offset(line: int, column: int) -> int:
        row = line - first.line
        return starts[row] + column - (1 if row else first.column)

    return text[: offset(*start)] + text[offset(*end) :]


def _start(code: Code, arg: cst.Arg) -> tuple[int, int]:
    place = code.place(arg.keyword or arg.value)
    return place.line, place.column


def _end(code: Code, node: cst.BaseExpression) -> tuple[int, int]:
    place = code.place(node)
    return place.end_line, place.end_column + len(node.rpar)


def in_statement_alone(code: Code, node: cst.CSTNode) -> cst.Expr | None:
    """The statement that is nothing but this call; None where its result is used."""
    above = code.parent(node)
    return above if isinstance(above, cst.Expr) else None
