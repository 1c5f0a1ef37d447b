"""The text of an expression with other expressions in the place of names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from collections.abc import Mapping


def substituted(node: cst.BaseExpression, texts: Mapping[str, str]) -> str:
    """`texts` are whole expressions, with the parentheses that they need as a part of another one."""
    new = node.visit(_Substituting({name: cst.parse_expression(text) for name, text in texts.items()}))
    assert isinstance(new, cst.CSTNode)  # noqa: S101 - nothing is taken away
    return cst.Module([]).code_for_node(new)


class _Substituting(cst.CSTTransformer):
    def __init__(self, values: Mapping[str, cst.BaseExpression]) -> None:
        super().__init__()
        self._values = values

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        return updated_node.with_changes(name=original_node.name)

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        del original_node
        return self._values.get(updated_node.value, updated_node)
