"""Expressions of numbers, written for the tensors that take the place of some of them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


_MATH = frozenset({"exp", "log", "log2", "log10", "sqrt", "sin", "cos", "tan", "tanh", "floor", "ceil"})
_LIMITS = {"min": ("max", "minimum"), "max": ("min", "maximum")}
_TWO = 2


def is_exact(parts: Iterable[ast.AST]) -> bool:
    """Are these whole numbers, and stay so?"""
    for one in (one for part in parts for one in ast.walk(part)):
        match one:
            case ast.Constant(value=value) if not isinstance(value, int):
                return False
            case ast.Div() | ast.Pow() | ast.Call():
                return False
    return True


class NumbersAsTensors(ast.NodeTransformer):
    """`math.cos(k)` as `torch.cos(k)`, `min(k, 3)` as `torch.clamp(k, max=3)`, where `k` is among `names`.

    refused   whether something was met that is not known of tensors
    """

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names
        self.refused = False

    def _asks(self, node: ast.AST) -> bool:
        return any(isinstance(one, ast.Name) and one.id in self._names for one in ast.walk(node))

    def visit_Call(self, node: ast.Call) -> ast.expr:
        given = [self._asks(one) for one in node.args]
        self.generic_visit(node)
        match node:
            case _ if not self._asks(node):
                return node
            case ast.Call(func=ast.Attribute(value=ast.Name(id="math"), attr=name), args=[_]) if name in _MATH:
                node.func = _torch(name)
                return node
            case ast.Call(func=ast.Name(id="float"), args=[one], keywords=[]):
                return one
            case ast.Call(func=ast.Name(id="abs"), args=[_], keywords=[]):
                node.func = _torch("abs")
                return node
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=[_, _], keywords=[]):
                return self._limited(node, name, given)
        self.refused = True
        return node

    def _limited(self, node: ast.Call, name: str, given: list[bool]) -> ast.expr:
        word, of_tensors = _LIMITS[name]
        if all(given):
            node.func = _torch(of_tensors)
            return node
        tensor, number = node.args if given[0] else reversed(node.args)
        return ast.Call(_torch("clamp"), [tensor], [ast.keyword(word, number)])

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        asks = self._asks(node.test)
        self.generic_visit(node)
        return ast.Call(_torch("where"), [node.test, node.body, node.orelse], []) if asks else node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        self.refused = self.refused or self._asks(node)
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.expr:
        self.refused = self.refused or (isinstance(node.op, ast.Not) and self._asks(node))
        self.generic_visit(node)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        self.refused = self.refused or self._asks(node)
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        self.refused = self.refused or (len(node.ops) > 1 and self._asks(node))
        self.generic_visit(node)
        return node


def _torch(name: str) -> ast.expr:
    return ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load())
