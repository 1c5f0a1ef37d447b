"""Computed anew: what is kept for an object, or spared where two objects are one, is computed in every call.

A program has no objects and no addresses. What a cache holds for the address of a tensor is what the same call would
compute; and where two tensors are one object, what is computed for two gives the same. It takes more time, no more.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import path_of
from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import as_target, expression
from exportlint.rewrite.transformation import CannotError, Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.draft import Draft
    from exportlint.rewrite.transformation import Site
    from exportlint.rewrite.view import View


class ComputedAnew:
    """At an address that a cache is keyed by, or at a question whether two tensors are one."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        if site.view is None:
            raise CannotError("it stands in no function")
        yield from _without_cache(site, site.view)
        yield from _as_two_objects(site)


# -- Caches ------------------------------------------------------------------------------------------------------------


def _without_cache(site: Site, view: View) -> Iterator[Proposal]:
    """`if key not in cache: cache[key] = value`, and what reads `cache[key]`."""
    keys = {ast.unparse(one) for one in _keys(view, site.draft(), site.node)}
    caches = {
        path for one in walked(view.node) for path, key in _uses(one)
        if path is not None and ast.unparse(key) in keys
    }  # fmt: skip
    if len(caches) == 1 and (found := _Cache(site, view, caches.pop(), keys)).is_left_out():
        yield Proposal("compute it in every call, without the cache", found.draft)


def _keys(view: View, draft: Draft, node: ast.AST) -> Iterator[ast.expr]:
    """What the address is a part of, as far as a statement goes; and the name that is set to it."""
    now: ast.AST | None = node
    while isinstance(now, ast.expr):
        yield now
        now = draft.parent(now)
    match now:
        case ast.Assign(targets=[ast.Name(id=name) as target]) if view.only_value(name) is not None:
            yield target


def _uses(node: ast.AST) -> Iterator[tuple[str | None, ast.expr]]:
    """The path of what is looked into, and the key: of `cache[key]`, `key in cache`, `cache.get(key)`."""
    match node:
        case ast.Subscript(value=owner, slice=key):
            yield path_of(owner), key
        case ast.Compare(left=key, ops=[ast.In() | ast.NotIn()], comparators=[owner]):
            yield path_of(owner), key
        case ast.Call(func=ast.Attribute(value=owner, attr="get" | "setdefault"), args=[key, *_]):
            yield path_of(owner), key


class _Cache:
    """A dict at a path, in a function: everything that is done with it, and the same without it."""

    def __init__(self, site: Site, view: View, path: str, keys: set[str]) -> None:
        self.view, self.path, self.keys = view, path, keys
        self.draft = site.draft()
        self._known: set[int] = set()  # uses of the cache that go
        self._name = self.draft.free_name("kept", view.flow.names)

    def is_left_out(self) -> bool:
        """Is the draft without it? Not where something else is done with it, or it is filled somewhere else."""
        stores = [one for one in walked(self.view.node) if self._is_store(one)]
        is_filled = bool(stores)
        for guard in walked(self.view.node):
            if isinstance(guard, ast.If):
                self._unguard(guard)
        for read in walked(self.view.node):
            match read:
                case ast.Call(func=ast.Attribute(attr="setdefault"), args=[_, value]) if self._looks(read):
                    self.draft.swap(read, value)
                    self._use(read)
                    is_filled = True
        reads = [
            one for one in walked(self.view.node)
            if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Load) and self._looks(one)
            and id(one) not in self._known
        ]  # fmt: skip
        is_asked = bool(reads or self._known)
        for store in stores:
            assert isinstance(store, ast.Assign)  # noqa: S101 - asked above
            self._use(store.targets[0])
            new = [ast.Assign([as_target(ast.Name(self._name))], store.value, lineno=store.lineno)] if reads else []
            self.draft.replace(store, new)
        for one in reads:
            self.draft.swap(one, ast.Name(self._name, ast.Load()))
            self._use(one)
        return is_filled and is_asked and self._leaves_nothing() and not self._is_used_elsewhere()

    def _is_used_elsewhere(self) -> bool:
        """Do other methods do more with it than to set it, or to clear it?"""
        for method in self.view.cls.node.body if self.view.cls is not None else ():
            for one in walked(method) if method is not self.view.node else ():
                if isinstance(one, ast.Attribute) and path_of(one) == self.path and _is_read(one):
                    above = self.draft.parent(one)
                    if not isinstance(above, ast.Attribute) or above.attr != "clear":
                        return True
        return False

    def _looks(self, node: ast.AST) -> bool:
        return any(path == self.path and ast.unparse(key) in self.keys for path, key in _uses(node))

    def _is_store(self, node: ast.AST) -> bool:
        match node:
            case ast.Assign(targets=[ast.Subscript() as target]):
                return self._looks(target)
        return False

    def _use(self, node: ast.AST) -> None:
        self._known |= {id(one) for one in walked(node)}

    def _unguard(self, guard: ast.If) -> None:
        """What is done where the cache has nothing is done always, what is done where it has something never."""
        draft = self.draft
        match guard.test:
            case ast.Compare(ops=[ast.NotIn()]) as test if self._looks(test):
                computed, found = guard.body, guard.orelse
            case ast.Compare(ops=[ast.In()]) as test if self._looks(test):
                computed, found = guard.orelse, guard.body
            case ast.Compare(left=ast.Name(id=name), ops=[ast.Is() | ast.IsNot() as asked], comparators=[empty]) if (
                isinstance(empty, ast.Constant) and empty.value is None and (line := self._got(name)) is not None
            ):
                is_none = isinstance(asked, ast.Is)
                computed, found = (guard.body, guard.orelse) if is_none else (guard.orelse, guard.body)
                draft.replace(line, [])
                self._use(line)
            case _:
                return
        draft.replace(guard, computed)
        for one in (guard.test, *found):
            self._use(one)

    def _got(self, name: str) -> ast.Assign | None:
        """`held = cache.get(key)`, which the guard behind it asks for."""
        for line in walked(self.view.node):
            match line:
                case ast.Assign(targets=[ast.Name(id=given)], value=ast.Call(args=[_]) as call) if given == name:
                    return line if self._looks(call) and ast.unparse(call.func).endswith(".get") else None
        return None

    def _leaves_nothing(self) -> bool:
        """Is the cache used no more? Then nobody needs the key, either."""
        left = [one for one in walked(self.view.node) if id(one) not in self._known]
        if any(isinstance(one, ast.Name | ast.Attribute) and path_of(one) == self.path and _is_read(one)
               for one in left):  # fmt: skip
            return False
        for line in left:
            match line:
                case ast.Assign(targets=[ast.Name(id=name)]) if name in self.keys:
                    reads = (one for one in left if isinstance(one, ast.Name) and one.id == name and _is_read(one))
                    if any(reads):
                        return False
                    self.draft.replace(line, [])
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=[])) if name == self.path:
                    self.draft.replace(line, [])
        return True


def _is_read(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


# -- Two tensors, or one -----------------------------------------------------------------------------------------------

_SAME: dict[type[ast.cmpop], bool] = {ast.Is: True, ast.IsNot: False, ast.Eq: True, ast.NotEq: False}


def _as_two_objects(site: Site) -> Iterator[Proposal]:
    """`if right is left: b = a else: b = encode(right)`: what is done for two objects is done in every call."""
    draft = site.draft()
    asked: ast.AST | None = site.node
    while isinstance(asked, ast.expr) and not isinstance(asked, ast.Compare):
        asked = draft.parent(asked)
    if not isinstance(asked, ast.Compare) or len(asked.ops) != 1 or not _asks_for_one(site, asked):
        return
    is_same = _SAME[type(asked.ops[0])]
    above = draft.parent(asked)
    line = draft.statement_of(asked)
    match above:
        case ast.If(test=test) if test is asked:
            kept = above.orelse if is_same else above.body
            draft.replace(above, kept)
        case ast.IfExp(test=test) if test is asked:
            draft.swap(above, above.orelse if is_same else above.body)
        case ast.BoolOp(op=op, values=values) if isinstance(op, ast.Or if is_same else ast.And):
            others = [one for one in values if one is not asked]
            draft.swap(above, others[0] if len(others) == 1 else ast.BoolOp(op, others))
        case _:
            draft.swap(asked, expression(str(not is_same)))
    yield Proposal("compute it as for two tensors", draft, both_sides_of=line.lineno if line is not None else 0)


def _asks_for_one(site: Site, asked: ast.Compare) -> bool:
    """`a is b`, `id(a) == id(b)`, `a.data_ptr() != b.data_ptr()`, of tensors."""
    view = site.view
    if view is None:
        return False
    sides = (asked.left, asked.comparators[0])
    if isinstance(asked.ops[0], ast.Is | ast.IsNot):
        return all(view.value(one).is_tensor for one in sides)
    return isinstance(asked.ops[0], ast.Eq | ast.NotEq) and all(_is_address(view, one) for one in sides)


def _is_address(view: View, node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Attribute(attr="data_ptr"), args=[]):
            return True
        case ast.Call(func=func, args=[of]):
            return view.origin(func) == "builtins.id" and view.value(of).is_tensor
    return False
