"""Leave numbers in the tensors that they would be read from: `x.max().item()` as `x.max()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_NUMBERS = frozenset({"builtins.float", "builtins.int", "builtins.bool"})


def without_reads(code: Code, node: cst.BaseExpression) -> str:
    """The source of an expression in which tensors are not read; without the parentheses around it."""
    text = node.visit(_Unread(code))
    assert isinstance(text, cst.BaseExpression)  # noqa: S101 - a read is replaced by what is read
    bare = text.with_changes(lpar=[], rpar=[]) if text.lpar and not isinstance(text, cst.Tuple) else text
    return cst.Module([]).code_for_node(bare)


class _Unread(cst.CSTTransformer):
    def __init__(self, code: Code) -> None:
        super().__init__()
        self._code = code

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        match original_node, updated_node:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="item")), args=[]), cst.Call(
                func=cst.Attribute(value=kept)
            ) if self._code.value(owner).is_data:
                return kept
            case cst.Call(args=[cst.Arg(value=read, keyword=None, star="")]), cst.Call(args=[cst.Arg(value=kept)]) if (
                self._code.name(original_node.func) in _NUMBERS and self._code.value(read).is_data
            ):
                return kept if kept.lpar or isinstance(kept, _CLOSED) else _in_parentheses(kept)
        return updated_node


_CLOSED = (cst.Name, cst.Call, cst.Attribute, cst.Subscript)


def _in_parentheses(node: cst.BaseExpression) -> cst.BaseExpression:
    return node.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
