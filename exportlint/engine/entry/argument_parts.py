"""Infer what a part of an argument is from how the function uses it, as is done for parameters."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import FunctionInfo


_PARTS = (ast.Name, ast.Tuple, ast.Subscript, ast.Call)
_GIVING = frozenset({"get", "pop"})


def parts_of_arguments(assign: ast.Assign, function: FunctionInfo) -> Iterator[tuple[str, bool]]:
    """The names that `mask = batch["mask"]`, `x, mask = inputs` or `mask = kwargs.get("mask")` bind to a part of an
    argument, each with: may it be None?"""
    if not isinstance(assign.value, _PARTS):
        return
    spec = function.node.args
    rest = [arg for arg in (spec.vararg, spec.kwarg) if arg]
    given = {arg.arg for arg in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, *rest)} - {"self", "cls"}
    for target in assign.targets:
        yield from _bound(target, assign.value, given)


def _bound(target: ast.expr, value: ast.expr, given: set[str]) -> Iterator[tuple[str, bool]]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Name(id=name) if name in given:
            yield from ((part.id, False) for part in targets if isinstance(part, ast.Name))
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, its in zip(targets, values, strict=True):
                yield from _bound(one, its, given)
        case ast.Name(id=bound), ast.Subscript(value=ast.Name(id=name)) if name in given:
            yield bound, False
        case ast.Name(id=bound), ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if name in given:
            if method in _GIVING:
                yield bound, True
