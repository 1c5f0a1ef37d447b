"""Blocks under a test that do nothing where the test's mask chooses nothing: they need no test."""

from __future__ import annotations

import libcst as cst

from exportlint.rewriting.source.assigned_names import every
from exportlint.rule.patterns import called

_BY_MASK = frozenset(
    {"masked_fill", "masked_fill_", "masked_scatter", "masked_scatter_", "where", "index_put", "index_put_"}
    | {"index_fill", "index_fill_", "index_add", "index_add_", "index_copy", "index_copy_"}
)
_LEAVES = (cst.Return, cst.Raise, cst.Break, cst.Continue)


def does_nothing_where_nothing_is_chosen(node: cst.If) -> bool:
    """Do all of its lines write by a mask or by places that the test asks about, as in `if bad.any(): x[bad] = 0`?"""
    tested = {one.value for one in every(node.test) if isinstance(one, cst.Name)}
    lines = node.body.body if node.orelse is None else ()
    return bool(lines) and all(_is_masked(line, tested) for line in lines)


def _is_masked(line: cst.CSTNode, tested: set[str]) -> bool:
    if any(isinstance(one, _LEAVES) for one in every(line)):
        return False
    match line:
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Subscript(slice=places))])]):
            return _names(*places) & tested != set()
        case cst.SimpleStatementLine(body=[cst.AugAssign(target=cst.Subscript(slice=places))]):
            return _names(*places) & tested != set()
    calls = (one for one in every(line) if isinstance(one, cst.Call) and called(one) in _BY_MASK)
    return any(_names(*one.args) & tested for one in calls)


def _names(*nodes: cst.CSTNode) -> set[str]:
    return {one.value for node in nodes for one in every(node) if isinstance(one, cst.Name)}
