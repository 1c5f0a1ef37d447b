"""Eager's side: where a function asks whether it is compiled or exported, and then computes something else, the program
computes what eager does.

Questions that only keep something out of the program (`if not torch.compiler.is_exporting(): print(x)`) stay.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site

# False in eager, true while torch exports.
_QUESTIONS = frozenset({
    "torch.compiler.is_compiling", "torch.compiler.is_exporting", "torch.compiler.is_dynamo_compiling",
    "torch._dynamo.is_compiling", "torch._dynamo.external_utils.is_compiling", "torch._utils.is_compiling",
})  # fmt: skip


class EagerSide:
    """Everywhere in the file, for the line that a trial found is one that the other side computed."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        draft, found = site.draft(), False
        for node in walked(site.module.tree):
            if not isinstance(node, ast.If | ast.IfExp) or (in_eager := _answer(site, node.test)) is None:
                continue
            ours, theirs = (node.body, node.orelse) if in_eager else (node.orelse, node.body)
            if isinstance(node, ast.IfExp):
                draft.swap(node, node.body if in_eager else node.orelse)
            elif not theirs:
                continue
            elif isinstance(ours, list):
                draft.replace(node, ours)
            found = True
        if found:
            yield Proposal("compute in the program what eager does", draft)


def _answer(site: Site, test: ast.expr) -> bool | None:
    """What the test is in eager; None where it asks something else, or more."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner) if (found := _answer(site, inner)) is not None:
            return not found
        case ast.Call(func=function) if site.module.dotted(function) in _QUESTIONS:
            return False
        case ast.BoolOp(op=ast.And(), values=values) if any(_answer(site, one) is False for one in values):
            return False
        case ast.BoolOp(op=ast.Or(), values=values) if any(_answer(site, one) is True for one in values):
            return True
    return None
