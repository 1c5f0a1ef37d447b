"""Run functions as if their file had more statements, without touching it. To be used in a fork: nothing is undone."""

from __future__ import annotations

import ast
import gc
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

import torch

from exportlint.trial.child.loading.edited_files import source_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def lay_over(path: str, statements: Mapping[int, Sequence[str]]) -> bool:
    """Put statements (of torch only) behind those of the given lines, in every live function of the file.

    The lines keep their numbers. False where a line holds no plain statement, or no function of it lives.
    """
    tree = ast.parse(source_of(path))
    laid = _Insert(statements)
    tree = laid.visit(tree)
    new = {(code.co_firstlineno, code.co_name): code for code in _codes(compile(tree, path, "exec", dont_inherit=True))}
    functions = [one for one in gc.get_objects() if isinstance(one, FunctionType) and one.__code__.co_filename == path]
    changed = False
    for function in functions:
        old = function.__code__
        code = new.get((old.co_firstlineno, old.co_name))
        if code is not None and code.co_freevars == old.co_freevars:
            function.__code__ = code
            function.__globals__.setdefault("torch", torch)
            changed = True
    return changed and laid.done == set(statements)


class _Insert(ast.NodeTransformer):
    def __init__(self, statements: Mapping[int, Sequence[str]]) -> None:
        self._statements = statements
        self.done: set[int] = set()

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        return self._with_more(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | list[ast.stmt]:
        return self._with_more(node)

    def _with_more(self, node: ast.stmt) -> ast.AST | list[ast.stmt]:
        lines = [line for line in self._statements if node.lineno <= line <= (node.end_lineno or node.lineno)]
        self.done.update(lines)
        more = [one for line in lines for text in self._statements[line] for one in ast.parse(text).body]
        placed = [ast.fix_missing_locations(_at(one, node)) for one in more]
        return [node, *placed] if placed else node


def _at(statement: ast.stmt, place: ast.stmt) -> ast.stmt:
    for node in ast.walk(statement):
        if hasattr(node, "lineno"):
            ast.copy_location(node, place)
    return statement


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)
