"""The tensor and the mask that some rows were selected by."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_owner
from exportlint.rewriting.source.assigned_names import every, is_set_once, only_value

if TYPE_CHECKING:
    from exportlint.rule.code import Code


def selected_rows(code: Code, node: cst.BaseExpression) -> tuple[str, str] | None:
    """`("x", "x[:, 0] > 0")` of `x[x[:, 0] > 0]`, or of a name that is set to it and stays the same."""
    made = only_value(code, node) if isinstance(node, cst.Name) else node
    match made:
        case cst.Subscript(value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=mask))]):
            names = [one for one in every(made) if isinstance(one, cst.Name)]
            if code.value(mask).boolean and (made is node or all(is_set_once(code, one) for one in names)):
                return as_owner(code, owner), code.source_of(mask)
    return None
