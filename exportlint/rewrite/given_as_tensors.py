"""Given as tensors: a number that callers give a model as an argument is given as a tensor of no dims.

A program has no other inputs than tensors. The function goes on with the tensor, as it does with numbers that are read
from one; and who makes the inputs in the same file gives it so. Callers in other files have to follow, which is told.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import span_of
from exportlint.rewrite.decide_in_data import put
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.straight_line import StraightLine
from exportlint.rewrite.transformation import CannotError, Proposal
from exportlint.rewrite.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site


class GivenAsTensors:
    """`def forward(self, x, step: int)`, called with a 3."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if isinstance(site.node, ast.arg):
            given = list(_given(site, site.fresh_view(), site.node))
            if not given:
                raise CannotError("nothing in the file gives the number")
            for way in (_as_tensor, _as_symbols):
                try:
                    yield way(site, site.node, given)
                except CannotError:
                    continue


def _as_tensor(site: Site, parameter: ast.arg, given: list[ast.expr]) -> Proposal:
    """The function goes on with the tensor, and so do those of the file that it gives the tensor to."""
    if not all(map(_is_number, given)):
        raise CannotError("some are given at once")
    draft, todo, done = site.draft(), [(site.fresh_view(), parameter)], set[int]()
    for view, one in todo:
        if id(view.node) in done:
            continue
        done.add(id(view.node))
        view.data.add(one.arg)
        if isinstance(one.annotation, ast.Name) and one.annotation.id == "bool":
            view.booleans.add(one.arg)
        put(draft, view.body, StraightLine(view).body())
        _annotated(draft, one, has_default=one in _with_defaults(view))
        todo += _handed_on(site, view, one.arg)
    for number in given:
        draft.swap(number, expression("torch.tensor(NUMBER)", NUMBER=number))
    return Proposal(f"give `{parameter.arg}` as a tensor, in its callers too", draft)


def _handed_on(site: Site, view: View, name: str) -> Iterator[tuple[View, ast.arg]]:
    """The functions of the file that are called with it, and what they call it."""
    for call in (one for one in ast.walk(view.node) if isinstance(one, ast.Call)):
        match call.func:
            case ast.Name(id=called) if view.origin(call.func):
                function = site.module.functions.get(called)
            case ast.Attribute(value=ast.Name(id="self"), attr=called) if view.cls is not None:
                function = view.cls.method(called)
            case _:
                continue
        if function is None or function.module is not site.module or isinstance(function.node, ast.Lambda):
            continue
        arguments = function.node.args
        own = [*arguments.posonlyargs, *arguments.args][isinstance(call.func, ast.Attribute) :]
        by_place = list(zip(own, call.args, strict=False))
        by_name = [(arg, w.value) for w in call.keywords for arg in (*own, *arguments.kwonlyargs) if arg.arg == w.arg]
        for arg, value in by_place + by_name:
            if isinstance(value, ast.Name) and value.id == name:
                yield View(site.module, function, site.belief), arg


def _as_symbols(site: Site, parameter: ast.arg, given: list[ast.expr]) -> Proposal:
    """The numbers are read from the tensor, above everything else: sizes, say, which torch carries along."""
    view, draft = site.fresh_view(), site.draft()
    constants = [one for number in given for one in ast.walk(number) if isinstance(one, ast.Constant)]
    kinds = {"tuple" if isinstance(one, ast.Tuple) else "list" if isinstance(one, ast.List) else "" for one in given}
    if len(kinds) > 1 or any(isinstance(one.value, bool) for one in constants):
        raise CannotError("it is no number each time")
    read = {"tuple": "NAME = tuple(NAME.tolist())", "list": "NAME = NAME.tolist()", "": "NAME = NAME.item()"}
    texted = ast.get_docstring(view.node, clean=False) is not None and len(view.body) > 1
    draft.above(view.body[texted], statements(read[kinds.pop()], NAME=parameter.arg))
    _annotated(draft, parameter, has_default=parameter in _with_defaults(view))
    # A tensor of a number with a fraction would round it, where nobody says otherwise.
    wide = ", dtype=torch.float64" if any(isinstance(one.value, float) for one in constants) else ""
    for numbers in given:
        draft.swap(numbers, expression(f"torch.tensor(NUMBERS{wide})", NUMBERS=numbers))
    return Proposal(f"give `{parameter.arg}` as a tensor, in its callers too, and read it as symbols", draft)


def _with_defaults(view: View) -> list[ast.arg]:
    arguments = view.node.args
    own = [*arguments.posonlyargs, *arguments.args]
    by_name = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return [*own[len(own) - len(arguments.defaults) :], *(one for one, value in by_name if value is not None)]


def _annotated(draft: Draft, parameter: ast.arg, *, has_default: bool) -> None:
    """A number stays where callers leave it out."""
    if parameter.annotation is not None:
        new = expression("torch.Tensor | OLD", OLD=parameter.annotation) if has_default else expression("torch.Tensor")
        draft.swap(parameter.annotation, new)


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
        yield from filter(_is_numbers, found)


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


def _is_numbers(node: ast.expr) -> bool:
    """A number, or some of them in a tuple or list."""
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(_is_number, node.elts))
    return _is_number(node)
