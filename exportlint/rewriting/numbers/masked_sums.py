"""Sums and means of what a mask selects, over all elements: no size depends on data then."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_owner

if TYPE_CHECKING:
    from exportlint.rule.code import Code


def without_selections(code: Code, node: cst.BaseExpression) -> str | None:
    """`x[mask].mean()` as `torch.where(mask, x, 0).sum() / mask.sum()`; None where there is no such thing."""
    new = node.visit(found := _Selections(code))
    return cst.Module([]).code_for_node(new) if found.any and isinstance(new, cst.BaseExpression) else None


class _Selections(cst.CSTTransformer):
    def __init__(self, code: Code) -> None:
        super().__init__()
        self._code = code
        self.any = False

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        text = _reduced(self._code, original_node)
        self.any = self.any or text is not None
        return cst.parse_expression(f"({text})") if text is not None else updated_node


def _reduced(code: Code, node: cst.Call) -> str | None:
    match node:
        case cst.Call(
            func=cst.Attribute(
                value=cst.Subscript(value=owner, slice=[cst.SubscriptElement(slice=cst.Index(value=mask))]),
                attr=cst.Name(value="sum" | "mean" as method),
            ),
            args=args,
        ) if code.value(mask).boolean:
            dim = ", ".join(cst.Module([]).code_for_node(arg) for arg in args)
            test = as_owner(code, mask)
            wide = code.source_of(mask) if not dim else f"{test}.unsqueeze(-1)"
            total = f"torch.where({wide}, {code.source_of(owner)}, 0).sum({dim})"
            return total if method == "sum" else f"{total} / {test}.sum()"
    return None
