"""Given as tensors: a number that callers give a model as an argument is given as a tensor of no dims; and zeros or
ones are given in the place of None, where the function would begin with them.

A program has no other inputs than tensors. The function goes on with the tensor, as it does with numbers that are read
from one; and who makes the inputs in the same file gives it so. Callers in other files have to follow, which is told.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import span_of
from exportlint.rewrite.decide_in_data import put
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.straight_line import StraightLine
from exportlint.rewrite.transformation import CannotError, Proposal, Site
from exportlint.rewrite.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.draft import Draft


class GivenAsTensors:
    """`def forward(self, x, step: int)`, called with a 3; `state=None`, called with None."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        for own in _parameters(site):
            given = list(_given(own, own.fresh_view(), own.node))
            for way in (_as_tensor, _as_symbols, _as_begun, _as_places) if given else ():
                try:
                    yield way(own, own.node, given)
                except CannotError:
                    continue


@dataclass(frozen=True, slots=True)
class _Parameter(Site):
    """A site that is a parameter of its function."""

    node: ast.arg


def _parameters(site: Site) -> Iterator[_Parameter]:
    """The one that is reported; all of the model's, where a trial reports the class, or a line of its forward."""
    match site:
        case Site(node=ast.arg() as parameter):
            yield _Parameter(site.module, site.belief, parameter, site.view)
            return
        case Site(node=ast.ClassDef(name=name)):
            view = next((v for v in site.views() if v.cls and v.cls.name == name and _is_forward(v)), None)
        case _:
            view = site.view if site.view is not None and _is_forward(site.view) else None
    arguments = [*view.node.args.posonlyargs, *view.node.args.args, *view.node.args.kwonlyargs] if view else []
    for one in arguments[1:]:
        yield _Parameter(site.module, site.belief, one, view)


def _is_forward(view: View) -> bool:
    return view.cls is not None and view.function.name == "forward"


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
        default = next((value for arg, value in _defaults(view) if arg is one), None)
        if default is not None and _is_number(default):  # what goes on with a tensor need not take a number
            draft.swap(default, expression("torch.tensor(NUMBER)", NUMBER=default))
            default = None
        _annotated(draft, one, has_default=default is not None)
        todo += _handed_on(site, view, one.arg)
    for number in given:
        draft.swap(number, expression("torch.tensor(NUMBER)", NUMBER=number))
    return Proposal(f"give `{parameter.arg}` as a tensor, in its callers too", draft)


def _handed_on(site: Site, view: View, name: str) -> Iterator[tuple[View, ast.arg]]:
    """The functions of the file that are called with it, and what they call it."""
    for call in (one for one in walked(view.node) if isinstance(one, ast.Call)):
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
    constants = [one for number in given for one in walked(number) if isinstance(one, ast.Constant)]
    if any(one.value is None or isinstance(one.value, str) for one in constants):
        raise CannotError("some give no number")
    kinds = set(map(_kind, given))
    if len(kinds) > 1 or any(isinstance(one.value, bool) for one in constants):
        raise CannotError("it is no number each time")
    kind = kinds.pop()
    read = {"tuple": "NAME = tuple(NAME.tolist())", "list": "NAME = NAME.tolist()", "": "NAME = NAME.item()"}[kind]
    default = next((value for arg, value in _defaults(view) if arg is parameter), None)
    if default is not None and _is_none(default):
        read = f"if NAME is not None:\n    {read}"
    elif default is not None and not (_is_numbers(default) and _kind(default) == kind):
        raise CannotError("it is no number where callers leave it out")
    texted = ast.get_docstring(view.node, clean=False) is not None and len(view.body) > 1
    draft.above(view.body[texted], statements(read, NAME=parameter.arg))
    _annotated(draft, parameter, has_default=default is not None and _is_none(default))
    # A tensor of a number with a fraction would round it, where nobody says otherwise.
    wide = ", dtype=torch.float64" if any(isinstance(one.value, float) for one in constants) else ""
    for numbers in (*given, *([default] if default is not None and not _is_none(default) else [])):
        draft.swap(numbers, expression(f"torch.tensor(NUMBERS{wide})", NUMBERS=numbers))
    return Proposal(f"give `{parameter.arg}` as a tensor, in its callers too, and read it as symbols", draft)


def _as_begun(site: Site, parameter: ast.arg, given: list[ast.expr]) -> Proposal:
    """Who gives None gives the zeros or ones that the function begins with where there is nothing."""
    view, draft, name = site.fresh_view(), site.draft(), parameter.arg
    nothing = [one for one in given if _is_none(one)]
    begun = [value for one in walked(view.node) if (value := _begun(one, name)) is not None]
    if not nothing or len(begun) != 1:
        raise CannotError("the function does not begin it in one place")
    new = _filled(view, begun[0])
    for one in nothing:
        draft.swap(one, new)
    return Proposal(f"give what it begins with for `{name}`, in its callers", draft)


def _begun(node: ast.AST, name: str) -> ast.expr | None:
    """What `if state is None: state = torch.zeros(1, n, 8)` begins with, and the other ways to write that."""
    match node:
        case ast.If(test=test, body=[ast.Assign(targets=[ast.Name(id=own)], value=value)], orelse=[]):
            return value if own == name and _asks(test, name) is True else None
        case ast.IfExp(test=test, body=body, orelse=orelse):
            asks = _asks(test, name)
            value, other = (body, orelse) if asks else (orelse, body)
            return value if asks is not None and isinstance(other, ast.Name) and other.id == name else None
    return None


def _asks(test: ast.expr | None, name: str) -> bool | None:
    """Is it asked whether there is nothing? False: whether there is something."""
    match test:
        case ast.Compare(
            left=ast.Name(id=own), ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]
        ):
            return isinstance(op, ast.Is) if own == name else None
    return None


def _filled(view: View, begun: ast.expr) -> ast.expr:
    """The same with the sizes of the sample; raises CannotError for all but zeros and ones."""
    if isinstance(begun, ast.Tuple):
        return ast.Tuple([_filled(view, one) for one in begun.elts], ast.Load())
    dims, (maker, words) = view.dims(begun), _maker(view, begun)
    if dims is None or None in dims:
        raise CannotError("nobody knows how large it is")
    return ast.Call(expression(maker), [ast.Constant(one) for one in dims] or [ast.Tuple([], ast.Load())], words)


def _maker(view: View, node: ast.expr) -> tuple[str, list[ast.keyword]]:
    """The function of torch's that makes it, also in a method that only returns it, and of which dtype."""
    if isinstance(node, ast.Call):
        name = view.origin(node.func) or f"torch.{getattr(node.func, 'attr', '').removeprefix('new_')}"
        dtypes = [one for one in node.keywords if one.arg == "dtype"]
        if name in {"torch.zeros", "torch.ones"} and all(
            (view.origin(one.value) or "")[:6] == "torch." for one in dtypes
        ):
            return name, dtypes
        method = node.func.attr if isinstance(node.func, ast.Attribute) and path_of(node.func.value) == "self" else None
        known = view.cls.method(method) if view.cls is not None and method is not None else None
        match known.node.body if known is not None and not isinstance(known.node, ast.Lambda) else None:
            case [*_, ast.Return(value=ast.expr() as value)] if known is not None and known.module is view.module:
                return _maker(View(view.module, known, view.belief), value)
    raise CannotError("it does not begin with zeros or ones")


def _as_places(site: Site, parameter: ast.arg, given: list[ast.expr]) -> Proposal:
    """A word is given as its place among all words that the function asks for, or that it has a layer for."""
    if not all(map(_is_word, given)):
        raise CannotError("it is no word each time")
    draft, todo, words = site.draft(), [(site.fresh_view(), parameter)], dict[str, None]()
    named, keys = list[ast.Constant](), list[tuple[str, ...]]()
    for view, one in todo:
        if sum(other is one for _, other in todo) > 1:
            raise CannotError("it is handed around")
        keys += _keys_asked(view, one.arg, named)
        words |= dict.fromkeys(word for some in keys for word in some)
        todo += _handed_on(site, view, one.arg)
        named += [default for arg, default in _defaults(view) if arg is one and _is_word(default)]  # type: ignore[misc]
    words |= {str(one.value): None for one in (*named, *given) if isinstance(one, ast.Constant)}
    places = {word: place for place, word in enumerate(words)}
    defaults = set[int]()
    for view, one in todo:
        view.data.add(one.arg)
        view.whole.add(one.arg)
        view.singles.add(one.arg)
        view.words[one.arg] = () if {tuple(words)} == set(keys) else tuple(words)
        put(draft, view.body, StraightLine(view).body())
        own = [default for arg, default in _defaults(view) if arg is one]
        if any(not _is_word(default) for default in own):
            raise CannotError("nothing is a word, too")
        defaults |= set(map(id, own))
        if one.annotation is not None:
            draft.swap(one.annotation, expression("torch.Tensor"))
    for word in (*named, *given):
        place = ast.Constant(places[word.value])  # type: ignore[attr-defined]
        is_given = id(word) in defaults or any(word is one for one in given)
        draft.swap(word, expression("torch.tensor(PLACE)", PLACE=place) if is_given else place)
    said = ", ".join(f"{place}: {word!r}" for word, place in places.items())
    return Proposal(f"give `{parameter.arg}` as the place of the word ({said}), in its callers too", draft)


def _keys_asked(view: View, name: str, named: list[ast.Constant]) -> Iterator[tuple[str, ...]]:
    """The words that the function compares the name with are added to `named`; given are the keys of what it is read
    with. Raises CannotError where the name is used for anything else than to hand it on, or to say that it is wrong."""
    reads = {id(one) for one in walked(view.node) if isinstance(one, ast.Name) and one.id == name}
    if any(isinstance(one, ast.Name) and id(one) in reads and not isinstance(one.ctx, ast.Load)
           for one in walked(view.node)):  # fmt: skip
        raise CannotError("it is set anew")
    for node in walked(view.node):
        match node:
            case ast.Compare(
                left=ast.Name() as read, ops=[ast.Eq() | ast.NotEq()], comparators=[ast.Constant() as word]
            ):
                known = [word]
            case ast.Compare(
                left=ast.Name() as read, ops=[ast.In() | ast.NotIn()], comparators=[ast.Tuple(elts=parts)]
            ):
                known = [one for one in parts if isinstance(one, ast.Constant) and len(parts) > 1]
            case ast.Subscript(value=owner, slice=ast.Name() as read) if id(read) in reads:
                reads.discard(id(read))
                yield _keys(view, owner)
                continue
            case ast.Raise():
                reads -= {id(one) for one in walked(node)}
                continue
            case ast.Call(args=args, keywords=keywords):
                reads -= (
                    {id(one) for one in (*args, *(word.value for word in keywords))} if _is_ours(view, node) else set()
                )
                continue
            case _:
                continue
        if id(read) in reads and known and all(map(_is_word, known)):
            reads.discard(id(read))
            named += known
    if reads:
        raise CannotError("it is more than a word to choose by")


def _is_ours(view: View, call: ast.Call) -> bool:
    match call.func:
        case ast.Name(id=called):
            return called in view.module.functions
        case ast.Attribute(value=ast.Name(id="self"), attr=called):
            return view.cls is not None and view.cls.method(called) is not None
    return False


def _keys(view: View, owner: ast.expr) -> tuple[str, ...]:
    """Of a mapping, as the file says them: of a dict, of a comprehension of one, of layers that are made with them."""
    match view.literal(owner):
        case ast.Call(func=ast.Attribute(attr="ModuleDict") | ast.Name(id="ModuleDict"), args=[made]):
            pass
        case made:
            pass
    match made:
        case ast.Dict(keys=keys):
            listed: list[ast.expr | None] = list(keys)
        case ast.DictComp(key=ast.Name(id=key), generators=[ast.comprehension(target=target, iter=over, ifs=[])]):
            first = target.elts[0] if isinstance(target, ast.Tuple) else target
            if (
                isinstance(over, ast.Call)
                and isinstance(over.func, ast.Attribute)
                and over.func.attr in {"items", "keys"}
            ):
                over = over.func.value
            known = view.literal(over)
            listed = list(known.keys if isinstance(known, ast.Dict) else getattr(known, "elts", [None]))
            listed = listed if isinstance(first, ast.Name) and first.id == key else [None]
        case _:
            listed = [None]
    words = tuple(one.value for one in listed if isinstance(one, ast.Constant) and isinstance(one.value, str))
    if len(words) < len(listed):
        raise CannotError("nobody knows its keys")
    return words


def _defaults(view: View) -> Iterator[tuple[ast.arg, ast.expr]]:
    arguments = view.node.args
    own = [*arguments.posonlyargs, *arguments.args]
    yield from zip(own[len(own) - len(arguments.defaults) :], arguments.defaults, strict=True)
    yield from ((one, value) for one, value in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if value)


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
        yield from (one for one in found if _is_numbers(one) or _is_none(one) or _is_word(one))


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
            yield from walked(statement)
    for method in view.cls.node.body if view.cls is not None else ():
        if isinstance(method, ast.FunctionDef) and any(map(_is_static, method.decorator_list)):
            yield from walked(method)


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


def _kind(node: ast.expr) -> str:
    return "tuple" if isinstance(node, ast.Tuple) else "list" if isinstance(node, ast.List) else ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_word(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_numbers(node: ast.expr) -> bool:
    """A number, or some of them in a tuple or list."""
    if isinstance(node, ast.Tuple | ast.List):
        return bool(node.elts) and all(map(_is_number, node.elts))
    return _is_number(node)
