"""Given as tensors: a number that callers give a model as an argument is given as a tensor of no dims.

A program has no other inputs than tensors. The function goes on with the tensor, as it does with numbers that are read
from one; and who makes the inputs in the same file gives it so. Callers in other files have to follow, which is told.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import span_of
from exportlint.rewrite.decide_in_data import put
from exportlint.rewrite.draft import expression
from exportlint.rewrite.straight_line import StraightLine
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_NUMBERS = frozenset({"int", "float", "bool"})


class GivenAsTensors:
    """`def forward(self, x, step: int)`, called with a 3."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        parameter, view = site.node, site.fresh_view()
        if not isinstance(parameter, ast.arg):
            return
        view.data.add(parameter.arg)
        if isinstance(parameter.annotation, ast.Name) and parameter.annotation.id == "bool":
            view.booleans.add(parameter.arg)
        draft = site.draft()
        put(draft, view.body, StraightLine(view).body())
        if isinstance(parameter.annotation, ast.Name) and parameter.annotation.id in _NUMBERS:
            draft.swap(parameter.annotation, expression("torch.Tensor"))
        given = list(_given(site, view, parameter))
        if not given:
            raise CannotError("nothing in the file gives the number")
        for number in given:
            draft.swap(number, expression("torch.tensor(NUMBER)", NUMBER=number))
        yield Proposal(f"give `{parameter.arg}` as a tensor, in its callers too", draft)


def _given(site: Site, view: View, parameter: ast.arg) -> Iterator[ast.expr]:
    """The numbers for the parameter, wherever the file makes a tuple or a dict of the model's inputs, or calls it."""
    for node in _outside(site, view):
        match node:
            case ast.Return(value=ast.Tuple(elts=given)) | ast.Assign(value=ast.Tuple(elts=given)):
                found = _at_place(view, parameter, given)
            case (
                ast.Return(value=ast.Dict(keys=keys, values=values))
                | ast.Assign(value=ast.Dict(keys=keys, values=values))
            ):
                named = zip(keys, values, strict=True)
                found = [one for key, one in named if isinstance(key, ast.Constant) and key.value == parameter.arg]
            case ast.Call(func=model, args=given, keywords=words) if _is_of(view, model):
                by_name = [one.value for one in words if one.arg == parameter.arg]
                found = by_name or _at_place(view, parameter, given, with_words=bool(words))
            case _:
                continue
        yield from filter(_is_number, found)


def _at_place(view: View, parameter: ast.arg, given: list[ast.expr], *, with_words: bool = False) -> list[ast.expr]:
    """What is given for the parameter by its place, if it is as many as the function takes."""
    own = [*view.node.args.posonlyargs, *view.node.args.args][view.cls is not None :]
    least = 0 if with_words else len(own) - len(view.node.args.defaults)
    place = own.index(parameter) if parameter in own else len(given)
    return given[place : place + 1] if least <= len(given) <= len(own) else []


def _outside(site: Site, view: View) -> Iterator[ast.AST]:
    """All that stands in no class, and in static methods of the model's own."""
    for statement in site.module.tree.body:
        if not isinstance(statement, ast.ClassDef):
            yield from ast.walk(statement)
    for method in view.cls.node.body if view.cls is not None else ():
        if isinstance(method, ast.FunctionDef) and any(map(_is_static, method.decorator_list)):
            yield from ast.walk(method)


def _is_static(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id == "staticmethod"


def _is_of(view: View, model: ast.expr) -> bool:
    """Does the expression hold a model of the view's class?"""
    span = span_of(model)
    value = view.belief.values.get(span) if span is not None else None
    return value is not None and value.cls is not None and value.cls is view.cls


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return _is_number(node.operand)
    return isinstance(node, ast.Constant) and isinstance(node.value, bool | int | float)
