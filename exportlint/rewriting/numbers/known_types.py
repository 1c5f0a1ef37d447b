"""Questions for the type of a number that was read from a tensor, where the tensor tells the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import is_float, is_whole
from exportlint.rule.editing.repair import Change, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


def asked_for_type(code: Code, node: cst.BaseExpression) -> Iterator[Rewrite]:
    """`a if isinstance(n, int) else b` as `a`, where `n` is a whole number."""
    answer = _answer(code, node)
    if answer is None:
        return
    above = code.parent(node)
    change = Change(node, str(answer))
    if isinstance(above, cst.IfExp) and above.test is node:
        kept = above.body if answer else above.orelse
        text = code.source_of(kept)
        change = Change(above, f"({text})" if above.lpar and kept.lpar else text)
    yield Rewrite("leave the question out", (change,))


def _answer(code: Code, node: cst.BaseExpression) -> bool | None:
    match node:
        case cst.Call(args=[cst.Arg(value=asked), cst.Arg(value=cls)]):
            wanted = [e.value for e in cls.elements] if isinstance(cls, cst.Tuple) else [cls]
        case cst.Comparison(
            left=cst.Call(args=[cst.Arg(value=asked)]),
            comparisons=[cst.ComparisonTarget(operator=cst.Is() | cst.Equal(), comparator=cls)],
        ):
            wanted = [cls]
        case _:
            return None
    names = {code.name(one) for one in wanted}
    if not names <= {"builtins.int", "builtins.float", "builtins.str", "builtins.list", "builtins.tuple"}:
        return None
    if is_whole(code, asked):
        return "builtins.int" in names
    return "builtins.float" in names if is_float(code, asked) else None
