"""A method that makes layers, called by forward when they are not there yet, is called by `__init__`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import Kind
from exportlint.rule.editing.repair import Elsewhere, InInit, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


def moved_build(code: Code) -> Rewrite | None:
    """`if self.proj is None: self.build(x.shape[-1])`, where the code is that of `build`; None where more is in it."""
    if code.cls is None or code.function is None or code.cls.method("__init__") is None:
        return None
    found = [(method, guard) for method in _methods(code) for guard in _guards(method, code.function.name)]
    if len(found) != 1:
        return None
    method, guard = found[0]
    sized = [_sized(code, line) for line in guard.body]
    lines = [one for one in sized if not _sets_names_only(one)]
    if not lines or not all(_is_movable(method, line) for line in lines):
        return None
    text = "\n".join(map(ast.unparse, lines))
    return Rewrite("do it in `__init__`", (Elsewhere(guard, ""), InInit(text)))


def _methods(code: Code) -> Iterator[ast.FunctionDef]:
    for method in code.cls.methods.values() if code.cls is not None else ():
        if method.name != "__init__" and isinstance(method.node, ast.FunctionDef):
            yield method.node


def _guards(method: ast.FunctionDef, name: str) -> Iterator[ast.If]:
    """In the method's own block, on the object alone."""
    for one in method.body:
        if isinstance(one, ast.If) and not one.orelse and any(_is_call(node, name) for node in ast.walk(one)):
            names = {node.id for node in ast.walk(one.test) if isinstance(node, ast.Name)}
            if "self" in names and names <= {"self", "hasattr", "getattr", "isinstance"}:
                yield one


def _is_call(node: ast.AST, name: str) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self"), attr=attr)):
            return attr == name
    return False


def _sized(code: Code, line: ast.stmt) -> ast.AST:
    """With sizes as the numbers of a sample."""
    return ast.fix_missing_locations(_SizedBuild(code).visit(line))


def _sets_names_only(line: ast.AST) -> bool:
    return isinstance(line, ast.Assign) and all(isinstance(target, ast.Name) for target in line.targets)


def _is_movable(method: ast.FunctionDef, line: ast.AST) -> bool:
    """Does it need no argument, and no variable, of the method?"""
    given = {one.arg for one in (*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs)} - {"self"}
    stored = {one.id for one in ast.walk(method) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    read = {one.id for one in ast.walk(line) if isinstance(one, ast.Name)}
    return isinstance(line, ast.Expr | ast.Assign) and not read & (given | stored)


class _SizedBuild(ast.NodeTransformer):
    """Puts numbers in the place of sizes; the tree that it is given stays as it is."""

    def __init__(self, code: Code) -> None:
        self._code = code

    def visit(self, node: ast.AST) -> ast.AST:
        value = self._code.sketch.value(node)
        extent = getattr(value.lead, "extent", None) if value.kind is Kind.SIZE else None
        if extent is not None and extent.number is not None:
            return ast.Constant(extent.number)
        fields = {name: self._of(part) for name, part in ast.iter_fields(node)}
        return type(node)(**fields)

    def _of(self, part: object) -> object:
        if isinstance(part, list):
            return [self.visit(one) if isinstance(one, ast.AST) else one for one in part]
        return self.visit(part) if isinstance(part, ast.AST) else part
