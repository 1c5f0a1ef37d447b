"""Ordered in data: `min`, `max`, `sorted` and `list.sort` by a key that data says.

The keys of a Python list are stacked and ordered by torch, and what is listed is stacked and indexed: tensors, tuples
of tensors, what `zip` and `enumerate` put together, and the numbers of a `range`. The best of some tensors is selected
one by one, as Python compares them: so a key that is nan counts as it does there.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, cast

from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import Kind
from exportlint.rewrite.draft import Swapped, expression, statements
from exportlint.rewrite.free_numbers import free_numbers
from exportlint.rewrite.tensor_form import TensorForm
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View

_ASKING = frozenset({"min", "max", "sorted"})
_PLAIN = (ast.Name, ast.Attribute, ast.Constant, ast.Subscript, ast.List, ast.Tuple, ast.Starred, ast.expr_context)
_LISTS = frozenset({"list", "tuple"})
_LISTING = frozenset({"builtins.zip", "builtins.enumerate", "builtins.range", "builtins.len", "builtins.list"})
_UNCERTAIN = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class OrderedInData:
    """`min(losses, key=float)`, `sorted(zip(scores, boxes), key=lambda one: one[0])`, `boxes.sort(key=score)`."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        view, draft = site.fresh_view(), site.draft()
        call = _asking(view, draft, site.node)
        words = {one.arg: one.value for one in call.keywords}
        if not words.keys() <= {"key", "reverse"}:
            raise CannotError("it asks for more than a key")
        if call.args and _counts(call.args[0]):
            view.python |= {one.arg for one in walked(call) if isinstance(one, ast.arg)}
        if call.args and TensorForm(view).choices.lists_things(call.args[0]):
            raise CannotError("what is ordered is no tensor")
        if (
            call.args
            and isinstance(call.args[0], ast.Name)
            and (free := self._free(site, view, call.args[0])) is not None
        ):
            yield free
            return
        order = _Order(view, draft, call, words.get("key"))
        match call.func, call.args:
            case ast.Name(id="sorted"), [listed]:
                draft.swap(call, order.all(listed, words.get("reverse")))
            case ast.Name(id=name), [listed]:
                draft.swap(call, order.best(listed, name))
            case ast.Attribute(value=ast.Name(id=name) as listed), []:
                statement = draft.parent(call)
                if not isinstance(statement, ast.Expr) or name in view.flow.parameters:
                    raise CannotError("whose list it is, is not known")
                new = order.all(ast.Name(name, ast.Load()), words.get("reverse"), made=listed)
                draft.replace(statement, statements("NAME = SORTED", NAME=name, SORTED=new))
            case _:
                raise CannotError("it is another question")
        yield Proposal("order it with torch", draft)

    def _free(self, site: Site, view: View, listed: ast.Name) -> Proposal | None:
        """What is proposed where the numbers of a list are compared, and taken out of it."""
        draft = site.draft()

        def key_of(key: ast.expr) -> tuple[str, ast.expr]:
            view.python |= {one.arg for one in walked(key) if isinstance(one, ast.arg)}
            order = _Order(view, draft, ast.Call(ast.Name("min", ast.Load()), [listed], []), key)
            return order.each, order.key

        try:
            return free_numbers(view, draft, listed.id, key_of)
        except CannotError:
            return None


def _asking(view: View, draft: Draft, node: ast.AST) -> ast.Call:
    """The call that orders: the node, or around it, where the key was reported."""
    now: ast.AST | None = node.value if isinstance(node, ast.Expr) else node
    while now is not None and not isinstance(now, ast.stmt):
        match now:
            case ast.Call(func=ast.Name(id=name)) if name in _ASKING and view.origin(now.func) == f"builtins.{name}":
                return now
            case ast.Call(func=ast.Attribute(attr="sort"), args=[]):
                return now
        now = draft.parent(now)
    raise CannotError("nothing is ordered")


class _Order:
    """What stands in the place of one call; lines above it are written right away."""

    def __init__(self, view: View, draft: Draft, call: ast.Call, key: ast.expr | None) -> None:
        self.view = view
        self.draft = draft
        self.call = call
        self.form = TensorForm(view)
        self.form.in_tests = 1  # no gradient passes a key
        self.each, self.key = self._made(key)

    def _made(self, key: ast.expr | None) -> tuple[str, ast.expr]:
        """A name for what is listed, and its key, in tensors."""
        match key:
            case None:
                return "each", ast.Name("each", ast.Load())
            case ast.Lambda(args=ast.arguments(args=[ast.arg(arg=each)]), body=body):
                if each not in self.view.python:
                    self.view.data.add(each)
                return each, self.form.of(body)
            case ast.Call(args=[place]) if self.view.origin(key.func) == "operator.itemgetter":
                return "each", expression("each[PLACE]", PLACE=place)
            case ast.Name(id="float" | "int"):
                return "each", ast.Name("each", ast.Load())
            case ast.Name() | ast.Attribute():
                return "each", ast.Call(key, [ast.Name("each", ast.Load())], [])
        raise CannotError("a key that is not known")

    def best(self, listed: ast.expr, name: str) -> ast.expr:
        over = self._read_twice(listed)
        parts = self._parts(listed, over)
        if parts is None and not self.view.is_data(listed):
            best = self.draft.free_name("chosen", self.view.flow.names)
            its_key = Swapped({id(one): ast.Name(best, ast.Load()) for one in walked(self.key)
                               if isinstance(one, ast.Name) and one.id == self.each})  # fmt: skip
            sign = "<" if name == "min" else ">"
            self.draft.add_import("functools")
            return expression(
                f"functools.reduce(lambda BEST, EACH: torch.where(KEY {sign} OTHER, EACH, BEST), LISTED)",
                BEST=best, EACH=self.each, KEY=self.key, OTHER=cast("ast.expr", its_key.visit(self.key)), LISTED=over,
            )  # fmt: skip
        keys = self._keys(over)
        match parts:
            case []:
                raise CannotError("what follows has to go on with the number that it gives")
            case None:
                place = expression(f"KEYS.arg{name}(keepdim=True)", KEYS=keys)
                return expression("X[PLACE].squeeze(0)", X=listed, PLACE=place)
        best = self._above("best", expression(f"KEYS.arg{name}(keepdim=True)", KEYS=keys))
        if isinstance(parts[0], ast.Starred):
            text = "tuple(torch.stack(each)[BEST].squeeze(0) for each in zip(*LISTED))"
            return expression(text, BEST=best, LISTED=over)
        return ast.Tuple([expression("X.squeeze(0)", X=self._taken(one, best)) for one in parts], ast.Load())

    def all(self, listed: ast.expr, reverse: ast.expr | None, made: ast.expr | None = None) -> ast.expr:
        """`made`: the node of the author that says what is listed, where `listed` is a new one."""
        over = self._read_twice(listed)
        parts = self._parts(made or listed, over)
        text = "KEYS.argsort(stable=True)" if reverse is None else "KEYS.argsort(stable=True, descending=REVERSE)"
        given = {} if reverse is None else {"REVERSE": reverse}
        order = expression(text, KEYS=self._keys(over), **given)
        match parts:
            case []:
                return expression("list(ORDER)", ORDER=order)
            case None:
                whole = listed if self.view.is_data(listed) else expression("torch.stack(X)", X=_as_list(over))
                return expression("list(X[ORDER])", X=whole, ORDER=order)
        name = self._above("order", order)
        return expression("list(X)", X=ast.Call(ast.Name("zip", ast.Load()), [self._taken(p, name) for p in parts], []))

    def _keys(self, over: ast.expr) -> ast.expr:
        match self.key:
            case ast.Name(id=name) if name == self.each:
                return over if self.view.is_data(over) else expression("torch.stack(X)", X=_as_list(over))
        return expression("torch.stack([KEY for EACH in OVER])", KEY=self.key, EACH=self.each, OVER=over)

    def _taken(self, part: ast.expr, order: str) -> ast.expr:
        """A part of what is listed, in the order. `order` itself: the numbers of the places."""
        if isinstance(part, ast.Name) and part.id == "":
            return ast.Name(order, ast.Load())
        if isinstance(part, ast.Starred):
            return ast.Starred(
                expression("[torch.stack(each)[ORDER] for each in zip(*LISTED)]", ORDER=order, LISTED=part.value),
                ast.Load(),
            )
        whole = part if self.view.is_data(part) else expression("torch.stack(X)", X=_as_list(part))
        return expression("X[ORDER]", X=whole, ORDER=order)

    def _parts(self, listed: ast.expr, over: ast.expr) -> list[ast.expr] | None:
        """What each entry is made of: lists, or a list of tuples with a star; nothing for the numbers of a range, None
        for tensors."""
        place = ast.Name("", ast.Load())
        match listed:
            case ast.Call(args=[_]) if _counts(listed):
                return []
            case ast.Call(func=ast.Name(id="zip"), args=given, keywords=[]) if not _starred(given):
                return [*given]
            case ast.Call(func=ast.Name(id="enumerate"), args=[given]):
                return [place, given]
        entry = self.view.value(listed).element
        is_tuple = entry is not None and entry.container in _LISTS
        if is_tuple or ((entry is None or entry.kind is Kind.UNKNOWN) and self._asks_part()):
            return [ast.Starred(over, ast.Load())]
        return None

    def _asks_part(self) -> bool:
        """Does the key take an entry apart, as a tuple?"""
        return any(
            isinstance(one.value, ast.Name) and one.value.id == self.each
            and isinstance(one.slice, ast.Constant) and isinstance(one.slice.value, int)
            for one in walked(self.key) if isinstance(one, ast.Subscript)
        )  # fmt: skip

    def _read_twice(self, listed: ast.expr) -> ast.expr:
        """What is listed, as it can be gone through more than once: a name for it where it is computed, or used up."""
        names = (one for one in walked(listed) if isinstance(one, ast.Name))
        used_up = any(
            isinstance(made := self.view.only_value(one.id), ast.GeneratorExp)
            or (isinstance(made, ast.Call) and self.view.origin(made.func) in _USED_UP)
            for one in names
        )
        computed = any(
            not isinstance(one, _PLAIN) and not (isinstance(one, ast.Call) and self._is_listing(one))
            for one in walked(listed)
        )
        if not used_up and not computed:
            return listed
        return ast.Name(self._above("listed", _as_list(listed)), ast.Load())

    def _is_listing(self, call: ast.Call) -> bool:
        return self.view.origin(call.func) in _LISTING

    def _above(self, name: str, value: ast.expr) -> str:
        """A name that is set to it above the statement; refused where Python may not come to the call."""
        now: ast.AST | None = self.call
        while now is not None and not isinstance(now, ast.stmt):
            now = self.draft.parent(now)
            if isinstance(now, _UNCERTAIN):
                raise CannotError("it may not be asked")
        if now is None or isinstance(now, ast.While | ast.If | ast.With | ast.Match):
            raise CannotError("no line can stand above it")
        free = self.draft.free_name(name, self.view.flow.names)
        self.draft.above(now, statements("NAME = VALUE", NAME=free, VALUE=value))
        return free


_USED_UP = frozenset({"builtins.zip", "builtins.map", "builtins.filter", "builtins.enumerate", "builtins.reversed"})


def _as_list(node: ast.expr) -> ast.expr:
    """`torch.stack` takes lists and tuples alone."""
    match node:
        case ast.List() | ast.Tuple() | ast.ListComp():
            return node
        case ast.GeneratorExp(elt=element, generators=generators):
            return ast.ListComp(element, generators)
        case ast.Call(func=ast.Name(id="zip" | "enumerate" | "map" | "filter" | "reversed" | "range")):
            return expression("list(X)", X=node)
    return node


def _counts(listed: ast.expr) -> bool:
    return isinstance(listed, ast.Call) and isinstance(listed.func, ast.Name) and listed.func.id == "range"


def _starred(given: list[ast.expr]) -> bool:
    return any(isinstance(one, ast.Starred) for one in given)
