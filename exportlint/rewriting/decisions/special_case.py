"""A special case that data asks for goes, where the general way computes the same: `if mask.all(): mask = None`."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.decisions.tensor_test import joined_tests
from exportlint.rule.editing.repair import Change, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


def without_special_case(code: Code, node: cst.If) -> Iterator[Rewrite]:
    """What Python asks beside data stays. Only inputs that take both sides can show that this is right."""
    if _only_goes_another_way(node) and (change := _change(code, node)) is not None:
        yield Rewrite("leave the special case out", (change,), needs_both_sides=True)


def _only_goes_another_way(node: cst.If) -> bool:
    """Does the case compute nothing by itself? What it computes might matter for values that nobody tried."""
    match node.body:
        case cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[one])]) | cst.SimpleStatementSuite(body=[one]):
            pass
        case _:
            return False
    match one:
        case cst.Continue() | cst.Break() | cst.Pass():
            return True
        case cst.Return(value=value) | cst.Assign(targets=[cst.AssignTarget(target=cst.Name())], value=value):
            return value is None or isinstance(value, cst.Name | cst.Attribute | cst.BaseNumber)
    return False


def _change(code: Code, node: cst.If) -> Change | None:
    parts = joined_tests(node.test, cst.Or)
    plain = [code.source_of(one) for one in parts if not code.value(one).may_be_data]
    if len(parts) > 1 and plain:
        return Change(node.test, " or ".join(plain)) if len(plain) < len(parts) else None
    if node.orelse is None and not isinstance(code.parent(node), cst.If):
        return Change(node, "")
    if isinstance(node.orelse, cst.Else) and isinstance(node.orelse.body, cst.IndentedBlock):
        lines = "".join(map(cst.Module([]).code_for_node, node.orelse.body.body))
        return Change(node, textwrap.dedent(lines).strip("\n"))
    return None
