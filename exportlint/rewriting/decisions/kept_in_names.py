"""Names that hold what was read from tensors: their definitions, changed so that they hold the tensors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.decisions.size_tests import size_name_change
from exportlint.rewriting.decisions.tensor_test import tensor_test
from exportlint.rewriting.numbers.unread import without_reads
from exportlint.rule.editing.repair import Change

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


def read_names(code: Code, node: cst.CSTNode) -> tuple[Change, ...] | None:
    """Changes after which the names in an expression that hold numbers read from tensors hold the tensors.

    None where such a name is set otherwise, or more than once.
    """
    names = {one.value for one in _names(node) if code.value(one).is_unbacked}
    changes: list[Change] = []
    for name in sorted(names):
        found = list(_assigned(_function(code, node), name))
        if len(found) == 1 and found[0] is not None and (size := size_name_change(code, found[0])) is not None:
            changes += [Change(found[0], size)] if size != code.source_of(found[0]) else []
            continue
        if any(_is_checked(code, one) for one in _names(_function(code, node)) if one.value == name):
            return None
        text = _unread(code, found[0]) if len(found) == 1 and found[0] is not None else None
        if text is None or found[0] is None:
            return None
        changes.append(Change(found[0], text))
    return tuple(changes)


def _is_checked(code: Code, name: cst.Name) -> bool:
    """Does `torch._check`, which takes no tensor, look at it?"""
    above: cst.CSTNode | None = name
    while above is not None and not isinstance(above, cst.BaseStatement):
        if isinstance(above, cst.Call) and (code.name(above.func) or "").startswith("torch._check"):
            return True
        above = code.parent(above)
    return False


def _unread(code: Code, node: cst.BaseExpression) -> str | None:
    text = without_reads(code, node)
    if text != code.source_of(node):
        return text
    return tensor_test(code, node) if isinstance(node, cst.Call | cst.BooleanOperation | cst.UnaryOperation) else None


def _function(code: Code, node: cst.CSTNode) -> cst.CSTNode:
    while not isinstance(node, cst.FunctionDef) and (above := code.parent(node)) is not None:
        node = above
    return node


def _names(node: cst.CSTNode) -> Iterator[cst.Name]:
    if isinstance(node, cst.Name):
        yield node
    for child in node.children:
        yield from _names(child)


def _assigned(node: cst.CSTNode, name: str) -> Iterator[cst.BaseExpression | None]:
    """What the name is set to, for each place that sets it; None where that is no expression of its own."""
    match node:
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Name(value=found))], value=value) if found == name:
            yield value
        case cst.Assign() | cst.AugAssign() | cst.AnnAssign() | cst.For() | cst.NamedExpr() | cst.Param():
            if any(one.value == name for one in _names(node) if _is_set(node, one)):
                yield None
    for child in node.children:
        yield from _assigned(child, name)


def _is_set(node: cst.CSTNode, name: cst.Name) -> bool:
    match node:
        case cst.Assign(targets=targets):
            return any(name in list(_names(one.target)) for one in targets)
        case cst.AugAssign(target=target) | cst.AnnAssign(target=target) | cst.For(target=target):
            return name in list(_names(target))
        case cst.NamedExpr(target=target):
            return target is name
        case cst.Param(name=parameter):
            return parameter is name
    return False
