"""Take a statement away, or what stands around a block."""

from __future__ import annotations

import io
import textwrap
import tokenize
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.editing.repair import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.rule.code import Code


def without_statement(code: Code, node: cst.CSTNode) -> Change | None:
    """The call goes, where it is a statement of its own."""
    above = code.parent(node)
    return Change(above, "") if isinstance(above, cst.Expr) else None


def without_with(code: Code, node: cst.CSTNode) -> Change | None:
    """The block of a `with` that has nothing but this item, without the `with`."""
    item = code.parent(node)
    block = code.parent(item) if isinstance(item, cst.WithItem) else None
    if not isinstance(block, cst.With) or len(block.items) != 1 or not isinstance(block.body, cst.IndentedBlock):
        return None
    lines = code.source_of(block).split("\n")
    first = code.place(block.body.body[0]).line - code.place(block).line
    indent = " " * (code.place(block.body.body[0]).column - 1)
    comments = [indent + one for one in comments_of(lines[:first])]
    return Change(block, textwrap.dedent("\n".join([*comments, *lines[first:]])))


def comments_of(head: Sequence[str]) -> list[str]:
    """The comments in the lines of the head of a block, which the head takes with it otherwise."""
    tokens = tokenize.generate_tokens(io.StringIO("\n".join(head) + "\n").readline)
    return [one.string for one in tokens if one.type == tokenize.COMMENT]
