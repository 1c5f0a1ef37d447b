"""Rows of different lengths as one padded tensor, instead of a nested tensor."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.assigned_names import every, name_set_to, statement_of, whole_function
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.source_of_calls import argument, operand
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite, Where
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


_PAD = "torch.nn.utils.rnn.pad_sequence"


def padded_rows(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """A nested tensor that is computed with, and padded once at the end: padded from the start, and masked there."""
    rows = argument(node, "tensor_list", 0) or argument(node, "ts", 0)
    pads = [
        one
        for one in every(whole_function(code, node))
        if isinstance(one, cst.Call) and called(one) == "to_padded_tensor"
    ]
    if rows is None or len(pads) != 1:
        return
    parts = _parts(code, pads[0])
    if parts is None:
        return
    nested, padding = parts
    text = code.source_of(rows)
    if nested is node:
        yield _rewrite(Change(pads[0], f"{_PAD}({text}, batch_first=True, padding_value={padding})"))
        return
    mask = f"{_PAD}([torch.ones_like(row[..., :1], dtype=torch.bool) for row in {text}], batch_first=True)"
    name, statement, held = name_set_to(code, node), statement_of(code, pads[0]), FreshNames(code).of("mask")
    if name is not None and statement is not None:
        result = f"torch.where({held}, {code.source_of(nested)}, {padding})"
        masked = Change(statement, f"{held} = {mask}", Where.BEFORE), Change(pads[0], result)
        yield _rewrite(Change(node, f"{_PAD}({text}, batch_first=True)"), *masked)


def _rewrite(*changes: Change) -> Rewrite:
    return Rewrite("pad the rows", (*changes, ModuleImport("torch")))


def _parts(code: Code, pad: cst.Call) -> tuple[cst.BaseExpression, str] | None:
    """The nested tensor and the padding of `torch.nested.to_padded_tensor(a, 0.0)` or `a.to_padded_tensor(0.0)`."""
    if (code.name(pad.func) or "").startswith("torch.nested."):
        nested, padding = argument(pad, "input", 0), argument(pad, "padding", 1)
    elif isinstance(pad.func, cst.Attribute):
        nested, padding = pad.func.value, argument(pad, "padding", 0)
    else:
        return None
    return (nested, operand(code, padding)) if nested is not None and padding is not None else None
