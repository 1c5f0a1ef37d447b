"""What a statement does beside setting its names, which must not happen where it would not have run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.source.assigned_names import every, set_to
from exportlint.rule.lifetimes.idempotence import fills_own_tensors
from exportlint.rule.patterns import CONTAINER_METHODS

if TYPE_CHECKING:
    from exportlint.rule.code import Code


_PLACES = (cst.Name, cst.Attribute, cst.Subscript)


def has_effects(code: Code, statement: cst.CSTNode) -> bool:
    """Does a call in it write a tensor in place, grow a container, or run a method that changes the object?"""
    nodes = list(every(statement))
    calls = (one for one in nodes if isinstance(one, cst.Call))
    added = (one.target for one in nodes if isinstance(one, cst.AugAssign) and isinstance(one.target, cst.Name))
    return any(_writes(code, one) for one in calls) or any(_names_attribute(code, name) for name in added)


def _names_attribute(code: Code, name: cst.BaseAssignTargetExpression) -> bool:
    """Is it another name for a tensor of self, as after `level = self.level`? `level *= 2` writes that in place."""
    if not isinstance(name, cst.Name):
        return False
    values = (value for _, value in set_to(code, name))
    return any(isinstance(value, cst.Attribute) and code.value(value).is_tensor for value in values)


def _writes(code: Code, node: cst.Call) -> bool:
    words = {arg.keyword.value: arg.value for arg in node.args if arg.keyword}
    in_place = words.get("inplace")
    if "out" in words or (isinstance(in_place, cst.Name) and in_place.value == "True"):
        return True
    match node.func:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=method)):
            return _changes_self(code, method)
        case cst.Attribute(value=owner, attr=cst.Name(value=method)) if isinstance(owner, _PLACES):
            of_torch = (code.name(node.func) or "").startswith("torch.")
            in_its_place = method.endswith("_") and not method.endswith("__")
            return (in_its_place or method in CONTAINER_METHODS) and not of_torch
    return False


def _changes_self(code: Code, method: str) -> bool:
    found = code.cls.method(method) if code.cls else None
    if found is None or isinstance(found.node, ast.Lambda):
        return False
    nodes = (one for one in ast.walk(found.node) if isinstance(one, ast.Attribute))
    own = {one.name: one.node for one in found.cls.methods.values()} if found.cls else {}
    methods = {name: node for name, node in own.items() if isinstance(node, ast.FunctionDef)}
    return any(isinstance(one.ctx, ast.Store) for one in nodes) or any(
        fills_own_tensors(one, methods) for one in found.node.body
    )
