"""Tensors that a function of an operator makes of Python numbers: made before the call, or filled."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rule.branches.branch_function import Touch
from exportlint.rule.editing.repair import Change, Elsewhere, Where

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from exportlint.rewriting.interface.run_functions import RunFunction
    from exportlint.rule.code import Code


_FILLING = {"tensor": "full", "as_tensor": "full", "new_tensor": "new_full"}


def made_outside(code: Code, function: RunFunction, statement: cst.CSTNode | None) -> Iterator[Change | Elsewhere]:
    """`statement`: the one with the call, before which lines can be put."""
    names = FreshNames(code)
    for made in _constants(function):
        if (text := _filled(function, made)) is not None:
            yield Elsewhere(made, text)
        elif statement is not None and function.is_local and _is_free(function, made):
            name = names.of("constant")
            is_result = any(part is made for parts in function.results() for part in parts)
            yield Change(statement, f"{name} = {function.source(made)}", Where.BEFORE)
            yield Elsewhere(made, f"{name}.clone()" if is_result else name)


def _constants(function: RunFunction) -> Iterator[ast.Call]:
    for touch, node in function.branch.effects():
        if touch is Touch.MAKES_CONSTANT and isinstance(node, ast.Call):
            yield node


def _is_free(function: RunFunction, call: ast.Call) -> bool:
    """Does it use nothing that the function has as its own?"""
    names = {one.id for one in ast.walk(call) if isinstance(one, ast.Name)}
    return names.isdisjoint({*function.branch.params, *function.branch.made})


def _filled(function: RunFunction, call: ast.Call) -> str | None:
    """`torch.full((), 1.0)` for `torch.tensor(1.0)`; None where what it is made of is no number."""
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr=method), args=[number]) if _is_number(number):
            words = [function.source(word) for word in call.keywords]
            arguments = ", ".join(["()", function.source(number), *words])
            return f"{function.source(owner)}.{_FILLING[method]}({arguments})" if method in _FILLING else None
    return None


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, bool | int | float)
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_number(operand)
    return False
