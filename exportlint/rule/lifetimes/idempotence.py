"""Writes that leave an attribute as it is, however often they run."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.source.parsed import walked

if TYPE_CHECKING:
    from collections.abc import Mapping


_MOVES = frozenset(
    {"to", "cuda", "cpu", "float", "half", "double", "bfloat16", "type", "type_as", "contiguous", "detach"}
)


def moves_only(new: cst.BaseExpression, name: str) -> bool:
    """`self.name = self.name.to(…)`, and `self.name` itself, give the same in every call.

    >>> moves_only(cst.parse_expression("self.table.to(x.device)"), "table")
    True
    """
    match new:
        case cst.Attribute():
            return _is_own(new, name)
        case cst.IfExp(body=body, orelse=other):
            return moves_only(body, name) and (_is_none(other) or moves_only(other, name))
        case cst.Call(func=cst.Attribute(value=inner, attr=cst.Name(value=method))) if method in _MOVES:
            return _is_own(inner, name) or moves_only(inner, name)
    return False


def adds_nothing(node: cst.AugAssign) -> bool:
    """`flag |= False`, `flag &= True`, `count += 0`.

    >>> adds_nothing(cst.parse_statement("self.seen |= False").body[0])
    True
    """
    match node.operator, node.value:
        case (cst.BitOrAssign(), cst.Name(value="False")) | (cst.BitAndAssign(), cst.Name(value="True")):
            return True
        case (cst.AddAssign() | cst.SubtractAssign(), cst.Integer(value="0")):
            return True
    return False


def _is_own(node: cst.CSTNode, name: str) -> bool:
    match node:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=attribute)):
            return attribute == name
    return False


def _is_none(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Name) and node.value == "None"


def fills_own_tensors(statement: ast.AST, methods: Mapping[str, ast.FunctionDef]) -> bool:
    """Is a tensor of self written in place there, or in a method of the class that is called there?

    >>> fills_own_tensors(ast.parse("self.scale.copy_(x.std())"), {})
    True
    >>> fills_own_tensors(ast.parse("self.scale.mean()"), {})
    False
    """
    for node in walked(statement):
        match node:
            case ast.Call(func=ast.Attribute(value=owner, attr=method)) if ast.unparse(owner).startswith("self."):
                if method.endswith("_") and not method.endswith("__"):
                    return True
            case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=method)) if method in methods:
                if any(fills_own_tensors(one, {}) for one in methods[method].body):
                    return True
    return False
