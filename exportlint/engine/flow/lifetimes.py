"""Which attributes of an object outlive a call of it: read in a call before that call has set them, and changed in one.

A call is what its entries do, in order: `forward`, and the hooks and callbacks that run with it; what these call on
`self` (methods, properties) is a part of it. What a call sets before it reads it is a scratch pad: it outlives nothing.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.engine.flow.def_use import is_changing, path_of, root_of
from exportlint.engine.source.parsed import walked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

# Everything is set on a way that has ended.
_ALL: None = None
_Set = frozenset[str] | None


def attribute_of(node: ast.AST | None, owner: str = "self") -> str | None:
    """The "cache" of `self.cache`, and of `self.cache.keys`.

    >>> attribute_of(ast.parse("self.cache.keys", mode="eval").body)
    'cache'
    """
    path = path_of(node)
    if path is None or not path.startswith(f"{owner}."):
        return None
    return path.removeprefix(f"{owner}.").partition(".")[0]


def written(node: ast.AST, owner: str = "self") -> Iterator[tuple[str, bool]]:
    """The attributes that running this very node changes; with each, whether nothing of what was there is left."""
    match node:
        case ast.Attribute(ctx=ast.Store() | ast.Del()) if name := attribute_of(node, owner):
            yield name, path_of(node) == f"{owner}.{name}"
        case ast.AugAssign(target=target) if name := attribute_of(root_of(target), owner):
            yield name, False
        case ast.Subscript(ctx=ast.Store() | ast.Del()) if name := attribute_of(root_of(node), owner):
            yield name, False
        case ast.Call(func=ast.Attribute(value=held, attr=method)) if is_changing(method):
            while isinstance(held, ast.Call | ast.Attribute | ast.Subscript) and attribute_of(held, owner) is None:
                held = held.func if isinstance(held, ast.Call) else held.value  # `self.mean.mul_(0.9).add_(x)`
            if name := attribute_of(held, owner):
                yield name, method == "clear"
        case ast.Call(func=ast.Name(id="next"), args=[iterator, *_]) if name := attribute_of(iterator, owner):
            yield name, False
        case ast.keyword(arg="out", value=target) if name := attribute_of(root_of(target), owner):
            yield name, False


class Lifetimes:
    """Of the attributes of objects of one class.

    methods   by name; where a property has a setter, that is "name.setter"
    entries   the methods that a call runs, in order

    >>> cls = ast.parse('''
    ... class Net:
    ...     def forward(self, x):
    ...         self.size = len(x)
    ...         return self.mixed(x) * self.size
    ...     def mixed(self, x):
    ...         old, self.last = self.last, x
    ...         return x - old
    ... ''').body[0]
    >>> sorted(Lifetimes(methods_in(cls), ["forward"]).outliving)
    ['last']
    """

    def __init__(self, methods: Mapping[str, ast.FunctionDef], entries: Sequence[str]) -> None:
        self.methods = methods
        self.entries = tuple(one for one in entries if one in methods)
        self._exposed: set[str] = set()
        self._known: dict[str, _Set] = {}

    @cached_property
    def reached(self) -> tuple[str, ...]:
        """The methods that a call may run."""
        found = list(self.entries)
        for name in found:
            for node in walked(self.methods[name]):
                found += [one for one in self._called(node) if one not in found]
        return tuple(found)

    @cached_property
    def changed(self) -> frozenset[str]:
        """The attributes that a call changes."""
        nodes = (node for name in self.reached for node in walked(self.methods[name]))
        return frozenset(name for node in nodes for name, _ in written(node)) - frozenset(self.methods)

    @cached_property
    def exposed(self) -> frozenset[str]:
        """The attributes that a call reads before it has set them."""
        done: _Set = frozenset()
        for name in self.entries:
            done = self._block(self.methods[name].body, frozenset() if done is _ALL else done)
        return frozenset(self._exposed)

    @cached_property
    def outliving(self) -> frozenset[str]:
        """Those that are changed, and read by a later call."""
        return self.changed & self.exposed

    def _called(self, node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.Attribute) and (name := attribute_of(node)):
            setter = f"{name}.setter"
            yield from (one for one in (name, setter if isinstance(node.ctx, ast.Store) else name)
                        if one in self.methods)  # fmt: skip

    # What is set for certain behind each part, and what is read before.

    def _block(self, body: Sequence[ast.stmt], done: _Set) -> _Set:
        for node in body:
            done = self._statement(node, done)
        return done

    def _statement(self, node: ast.stmt, done: _Set) -> _Set:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                done = self._run(test, done)
                return _both(self._block(body, done), self._block(orelse, done))
            case ast.For(iter=head, body=body, orelse=orelse) | ast.While(test=head, body=body, orelse=orelse):
                done = self._run(head, done)
                self._block(body, done)
                return self._block(orelse, done)
            case ast.With(items=items, body=body):
                for item in items:
                    done = self._run(item.context_expr, done)
                return self._block(body, done)
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=finalbody):
                ended = self._block(orelse, self._block(body, done))
                for handler in handlers:
                    ended = _both(ended, self._block(handler.body, done))
                return self._block(finalbody, ended)
            case ast.Return() | ast.Raise():
                self._run(node, done)
                return _ALL
            case ast.Assign(value=value, targets=targets):
                done = self._run(value, done)
                for target in targets:
                    done = self._run(target, done)
                return done
            case ast.FunctionDef(body=body):
                self._block(body, done)
                return done
        return self._run(node, done)

    def _run(self, part: ast.AST, done: _Set) -> _Set:
        """A simple statement or expression: what it reads, then what it sets."""
        nodes = list(walked(part))
        stored = {name for node in nodes for name, whole in written(node) if whole}
        emptied = {id(inner) for node in nodes if isinstance(node, ast.Call) for _, whole in written(node) if whole
                   for inner in walked(node)}  # fmt: skip
        for node in nodes:
            own = attribute_of(node) if isinstance(node, ast.Attribute) else None
            changes = [name for name, whole in written(node) if not whole]
            is_read = own is not None and isinstance(getattr(node, "ctx", None), ast.Load) and id(node) not in emptied
            for name in (*changes, *([own] if is_read and own else [])):
                if done is not _ALL and name not in done:
                    self._exposed.add(name)
        for node in nodes:
            for name in self._called(node):
                done = _more(done, self._summary(name, done))
        return _more(done, stored)

    def _summary(self, name: str, done: _Set) -> frozenset[str]:
        """What a call of the method sets for certain; what it reads before counts as read here."""
        if name not in self._known:
            self._known[name] = frozenset()  # it may call itself
            self._known[name] = self._block(self.methods[name].body, done)
        return self._known[name] or frozenset()


def _both(left: _Set, right: _Set) -> _Set:
    if left is _ALL or right is _ALL:
        return right if left is _ALL else left
    return left & right


def _more(done: _Set, new: frozenset[str] | set[str]) -> _Set:
    return done if done is _ALL else done | new


def methods_in(cls: ast.ClassDef) -> dict[str, ast.FunctionDef]:
    """The methods of a class by name; a property's setter as "name.setter"."""
    found: dict[str, ast.FunctionDef] = {}
    for node in cls.body:
        if isinstance(node, ast.FunctionDef):
            setter = any(isinstance(one, ast.Attribute) and one.attr == "setter" for one in node.decorator_list)
            found[f"{node.name}.setter" if setter else node.name] = node
    return found
