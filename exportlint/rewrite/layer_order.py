"""The order of layers as state: a call that puts the layers of a list into another order changes the module, which no
program does. The list stays as it is, a registered buffer of numbers says which layer comes where.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.flow.control_flow import statements as all_statements
from exportlint.engine.flow.def_use import path_of
from exportlint.engine.flow.lifetimes import methods_in
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import expression, statements
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ClassInfo
    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site


def order_in_buffer(site: Site, cls: ClassInfo) -> Iterator[Proposal]:
    """Of the lists of layers that `__init__` makes, and whose order a method changes. May raise CannotError."""
    methods = methods_in(cls.node)
    made = _made(site, methods.pop("__init__")) if "__init__" in methods else {}
    for path, definition in made.items():
        draft = site.draft()
        order = _Order(site, draft, path, draft.free_name(f"{path.removeprefix('self.')}_order"))
        if any([order.change(method) for method in methods.values()]):  # noqa: C419 - each of them changes
            text = "self.register_buffer(NAME, torch.arange(len(LAYERS)), persistent=False)"
            draft.below(definition, statements(text, NAME=ast.Constant(order.name), LAYERS=expression(path)))
            yield Proposal("keep the order of the layers in a registered buffer", draft)


def _made(site: Site, init: ast.FunctionDef) -> dict[str, ast.stmt]:
    """The attributes that are lists of layers, and the statements that set them."""
    found: dict[str, ast.stmt] = {}
    for one in all_statements(init.body):
        match one:
            case ast.Assign(targets=[target], value=ast.Call(func=function)) if _is_list(site, function):
                found[path_of(target) or ""] = one
    return {path: one for path, one in found.items() if path.startswith("self.")}


def _is_list(site: Site, function: ast.expr) -> bool:
    return (site.module.dotted(function) or "").rpartition(".")[2] == "ModuleList"


class _Order:
    """Of one list of layers: what `self.layers` means is written with `self.layers_order`."""

    def __init__(self, site: Site, draft: Draft, path: str, name: str) -> None:
        self.site, self.draft, self.path, self.name = site, draft, path, name
        self.own = expression(f"self.{name}")

    def change(self, method: ast.FunctionDef) -> bool:
        """Does the method set another order?"""
        names: dict[str, ast.expr] = {}  # lists of layers, by what they are in numbers
        done, sets = set[int](), False
        for line in all_statements(method.body):
            new = self._statement(line, names)
            if new is not None:
                sets = sets or bool(new)
                self.draft.replace(line, new)
                done |= {id(inner) for inner in walked(line)}
        for one in (one for one in walked(method) if id(one) not in done):
            self._read(one, done)
        left = (one for one in walked(method) if id(one) not in done)
        if any((path_of(one) == self.path) or (isinstance(one, ast.Name) and one.id in names) for one in left):
            raise CannotError("the layers are used in another way")
        return sets

    def _statement(self, node: ast.stmt, names: dict[str, ast.expr]) -> list[ast.stmt] | None:
        """What sets an order, in numbers; nothing for what only gives one a name."""
        match node:
            case ast.Assign(targets=[target], value=value) if path_of(target) == self.path:
                return statements("OWN.copy_(ORDER)", OWN=self.own, ORDER=self._order(value, names))
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if self._is_order(value, names):
                names[name] = self._order(value, names)
                return []
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=value) if self._is_order(value, names):
                whole, star = self._order(value, names), [isinstance(one, ast.Starred) for one in parts]
                for place, part in enumerate(parts):
                    first = place if True not in star[:place] else place - len(parts)
                    last = first + 1 if not star[place] else place + 1 - len(parts)
                    inner = part.value if isinstance(part, ast.Starred) else part
                    names[path_of(inner) or ""] = _cut(whole, first, last or None)
                return []
            case ast.Expr(value=ast.Call(func=ast.Attribute(value=owner, attr="append" | "insert" as method)) as call):
                turn = -1 if method == "append" else 1
                pops = [ast.unparse(owner) + end for end in ((".pop(0)",) if turn < 0 else (".pop()", ".pop(-1)"))]
                if self._is_order(owner, names) and call.args and ast.unparse(call.args[-1]) in pops:
                    rolled = expression("ORDER.roll(TURN)", ORDER=self._order(owner, names), TURN=turn)
                    if path_of(owner) == self.path:
                        return statements("OWN.copy_(ORDER)", OWN=self.own, ORDER=rolled)
                    names[path_of(owner) or ""] = rolled
                    return []
        return None

    def _is_order(self, node: ast.expr, names: dict[str, ast.expr]) -> bool:
        """Does it only put layers into an order?"""
        try:
            self._order(node, names)
        except CannotError:
            return False
        return True

    def _order(self, node: ast.expr, names: dict[str, ast.expr]) -> ast.expr:
        """The numbers of the layers that a list of them holds."""
        match node:
            case ast.Name(id=name) if name in names:
                return names[name]
            case ast.Attribute() if path_of(node) == self.path:
                return self.own
            case ast.Call(func=ast.Name(id="reversed"), args=[inner]):
                return expression("ORDER.flip(0)", ORDER=self._order(inner, names))
            case ast.Call(func=function, args=[inner]) if _is_list(self.site, function) or path_of(function) in _LISTS:
                return self._order(inner, names)
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _joined([self._order(left, names), self._order(right, names)])
            case ast.List(elts=parts) | ast.Tuple(elts=parts) if parts:
                return _joined([self._part(one, names) for one in parts])
            case ast.Subscript(value=inner, slice=ast.Slice(lower=None, upper=None, step=ast.UnaryOp() as step)):
                if ast.unparse(step) == "-1":
                    return expression("ORDER.flip(0)", ORDER=self._order(inner, names))
            case ast.Subscript(value=inner, slice=ast.Slice(step=None) as cut):
                return ast.Subscript(self._order(inner, names), cut, ast.Load())
        raise CannotError("it is no other order of the layers")

    def _part(self, node: ast.expr, names: dict[str, ast.expr]) -> ast.expr:
        """Of a list that is written out: some layers, or one."""
        match node:
            case ast.Starred(value=inner):
                return self._order(inner, names)
            case ast.Subscript(value=inner, slice=ast.Constant() | ast.UnaryOp() as index):
                number = ast.literal_eval(index)
                return _cut(self._order(inner, names), number, number + 1 or None)
        return self._order(node, names)

    def _read(self, node: ast.AST, done: set[int]) -> None:
        """Calls of layers: all of them, and the one that the order says."""
        match node:
            case ast.Call(func=ast.Subscript(value=owner, slice=index)) if path_of(owner) == self.path:
                number = expression("ORDER[INDEX].clone()", ORDER=self.own, INDEX=index)
                self._called(node, number)
                done |= {id(one) for one in walked(node.func)}
            case ast.Call(func=ast.Name(id="len"), args=[inner]):
                done |= {id(one) for one in walked(inner)}
            case ast.For() | ast.ListComp() | ast.GeneratorExp():
                through = node.generators[0] if not isinstance(node, ast.For) else node
                target, over = through.target, through.iter
                match target, over:
                    case ast.Tuple(elts=[_, ast.Name() as inner]), ast.Call(
                        func=ast.Name(id="enumerate"), args=[given]
                    ):
                        target, over = inner, given
                if isinstance(target, ast.Name) and path_of(over) == self.path:
                    self._gone_through(node, target, over)
                    done |= {id(over)}

    def _gone_through(self, node: ast.AST, target: ast.Name, over: ast.expr) -> None:
        """A loop over the layers goes through their numbers."""
        calls = [one for one in walked(node) if isinstance(one, ast.Call) and path_of(one.func) == target.id]
        if sum(isinstance(one, ast.Name) and one.id == target.id for one in walked(node)) != len(calls) + 1:
            raise CannotError("a layer is not only called")
        number = self.draft.free_name(f"{target.id}_number")
        self.draft.swap(target, ast.Name(number, ast.Store()))
        self.draft.swap(over, expression("ORDER.clone().unbind(0)", ORDER=self.own))
        for call in calls:
            self._called(call, ast.Name(number, ast.Load()))

    def _called(self, node: ast.Call, number: ast.expr) -> None:
        each = ast.Call(ast.Name("each", ast.Load()), node.args, node.keywords)
        text = "torch.stack([CALL for each in LAYERS])[NUMBER.reshape(1)].squeeze(0)"
        self.draft.swap(node, expression(text, CALL=each, LAYERS=expression(self.path), NUMBER=number))


_LISTS = frozenset({"list", "tuple"})


def _cut(order: ast.expr, first: int, last: int | None) -> ast.expr:
    lower = ast.Constant(first) if first else None
    return ast.Subscript(order, ast.Slice(lower, ast.Constant(last) if last is not None else None), ast.Load())


def _joined(parts: list[ast.expr]) -> ast.expr:
    return parts[0] if len(parts) == 1 else expression("torch.cat(PARTS)", PARTS=ast.List(parts, ast.Load()))
