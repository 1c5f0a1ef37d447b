"""`min` and `max` of tensors, written with operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.unread import without_reads

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_CLOSED = (cst.Name, cst.Call, cst.Attribute, cst.Subscript)
_ORDERINGS = {"builtins.min": ("argmin", "minimum", "min"), "builtins.max": ("argmax", "maximum", "max")}


def chosen_by_value(code: Code, node: cst.Call) -> str | None:
    """The source of the same choice in tensors; None of other calls.

    `min(rows, key=loss)` takes the row of the least key, `max(x.max().item(), 1)` a bound, `max(x)` the largest entry.
    """
    found = _ORDERINGS.get(code.name(node.func) or "")
    if found is None:
        return None
    position, both, reduced = found
    match node.args:
        case [cst.Arg(value=rows), cst.Arg(keyword=cst.Name(value="key"), value=key)]:
            return _by_key(code, rows, key, position)
        case [cst.Arg(value=left, keyword=None), cst.Arg(value=right, keyword=None)]:
            return _of_two(code, left, right, both)
        case [cst.Arg(value=values, keyword=None, star="")] if code.value(values).is_data:
            return f"{without_reads(code, values)}.{reduced}()"
    return None


def _by_key(code: Code, rows: cst.BaseExpression, key: cst.BaseExpression, position: str) -> str:
    text = code.source_of(rows)
    match key:
        case cst.Lambda(params=cst.Parameters(params=[cst.Param(name=cst.Name(value=name))]), body=body):
            keys = f"[{code.source_of(body)} for {name} in {text}]"
        case _:
            keys = f"[{code.source_of(key)}(one) for one in {text}]"
    stacked = text if isinstance(rows, cst.List | cst.Name) else f"list({text})"
    return f"torch.stack({stacked}).index_select(0, torch.stack({keys}).{position}().reshape(1)).squeeze(0)"


def _of_two(code: Code, left: cst.BaseExpression, right: cst.BaseExpression, both: str) -> str | None:
    """A number that was read stays in its tensor, and the other one bounds it."""
    data = [code.value(side).is_data for side in (left, right)]
    texts = [_chosen_inside(code, side) or without_reads(code, side) for side in (left, right)]
    if all(data):
        return f"torch.{both}({texts[0]}, {texts[1]})"
    (tensor, bound), side = (texts, left) if data[0] else (texts[::-1], right)
    word = "min" if both == "maximum" else "max"
    owner = tensor if isinstance(side, _CLOSED) else f"({tensor})"
    return f"{owner}.clamp({word}={bound})" if any(data) else None


def _chosen_inside(code: Code, node: cst.BaseExpression) -> str | None:
    """Of the inner one of `min(max(t.item(), 1.0), 2.0)`."""
    return chosen_by_value(code, node) if isinstance(node, cst.Call) else None
