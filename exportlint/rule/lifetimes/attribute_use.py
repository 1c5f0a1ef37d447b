"""Which attributes of an object carry a value from one call to the next: read before the call itself has set them."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rule.patterns import CONTAINER_METHODS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from exportlint.engine.source.symbols import ClassInfo


# Methods that change a container and give nothing back that a caller could read.
_SILENT = CONTAINER_METHODS - {"pop", "popleft", "popitem", "setdefault"}


@dataclass(slots=True)
class Use:
    """How often one call reads and sets an attribute. `early` reads happen where the call may not have set it yet.

    >>> Use(early=1, late=0, sets=2).read
    True
    """

    early: int = 0
    late: int = 0
    sets: int = 0

    @property
    def read(self) -> bool:
        return bool(self.early or self.late)


def use_of(attribute: str, methods: Mapping[str, ast.FunctionDef], entry: str = "forward") -> Use:
    """Follow a call of `entry` through the object's own methods.

    attribute   the name after `self.`; "meter.count" for an attribute of an attribute
    methods     the methods of the object by name, inherited ones included

    >>> import ast
    >>> forward = ast.parse("def forward(self, x):\\n    self.n += 1\\n    return x * self.n").body[0]
    >>> use_of("n", {"forward": forward}).early
    1
    """
    walk = _CallOrder(attribute, methods)
    if entry in methods:
        walk.method(entry, known=False)
    return walk.use


def has_modes(forward: ast.FunctionDef | None) -> bool:
    """Does a word among its arguments decide what a call does, so that one call does this, and the next one that?

    >>> import ast
    >>> has_modes(ast.parse("def forward(self, x, mode):\\n    if mode == 'norm': return x").body[0])
    True
    """
    if forward is None:
        return False
    names = {arg.arg for arg in (*forward.args.args, *forward.args.kwonlyargs)}
    return any(_asks_mode(node, names) for node in walked(forward))


def _asks_mode(node: ast.AST, names: set[str]) -> bool:
    match node:
        case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=str())]):
            return name in names
    return False


def outlives_calls(cls: ClassInfo) -> bool:
    """Does a later call meet the same object? It does a module, and what a class of the file keeps on self.

    >>> from exportlint.testing import code_of
    >>> code = code_of('''
    ... import torch
    ... class Meter: ...
    ... class Point: ...
    ... class Net(torch.nn.Module):
    ...     def __init__(self):
    ...         self.meter = Meter()
    ... ''')
    >>> {name: outlives_calls(cls) for name, cls in code.module.classes.items()}
    {'Meter': True, 'Point': False, 'Net': True}
    """
    if cls.is_module or cls.method("forward"):
        return True
    is_made = cls.module.matches(rf"\b{cls.name}\s*\(")
    return is_made and any(text.startswith(f"{cls.name}(") for text in _kept_on_self(cls.module.tree))


@lru_cache(maxsize=8)  # a file whose objects many models use is asked again for each of them
def _kept_on_self(tree: ast.Module) -> tuple[str, ...]:
    """The values that a file assigns to attributes of self, as text."""
    assigned = (node for node in walked(tree) if isinstance(node, ast.Assign))
    return tuple(ast.unparse(node.value) for node in assigned if _is_on_self(node.targets[0]))


def _is_on_self(target: ast.expr) -> bool:
    owners = (node.value for node in walked(target) if isinstance(node, ast.Attribute))
    return any(isinstance(owner, ast.Name) and owner.id == "self" for owner in owners)


def held_in(item: ast.expr) -> ast.expr:
    """The container that an item is in, however deep: the `self.stats` of `self.stats[name]["seen"]`.

    >>> import ast
    >>> ast.unparse(held_in(ast.parse("self.stats[name]['seen']", mode="eval").body))
    'self.stats'
    """
    while isinstance(item, ast.Subscript):
        item = item.value
    return item


@dataclass(slots=True)
class _CallOrder:
    """Statements in their order; `known` says that this call has set the attribute by then."""

    attribute: str
    methods: Mapping[str, ast.FunctionDef]
    use: Use = field(default_factory=Use)
    running: list[str] = field(default_factory=list)

    def method(self, name: str, *, known: bool) -> bool:
        if name in self.running:
            return known
        self.running.append(name)
        known = self.block(self.methods[name].body, known)
        self.running.pop()
        return known

    def block(self, body: Iterable[ast.stmt], known: bool) -> bool:
        for statement in body:
            known = self.statement(statement, known)
        return known

    def statement(self, node: ast.stmt, known: bool) -> bool:
        match node:
            case ast.If(test=test, body=body, orelse=orelse):
                return self.branches(self.expression(test, known), body, orelse)
            case ast.For(iter=start, body=body, orelse=orelse) | ast.While(test=start, body=body, orelse=orelse):
                known = self.expression(start, known)
                self.block(body, known)  # it may run no round at all
                return self.block(orelse, known)
            case ast.Try():
                return self.attempt(node, known)
            case ast.FunctionDef(body=body):
                self.block(body, known)
                return known
            case ast.Assign() | ast.AnnAssign() | ast.AugAssign():
                return self.assignment(node, known)
        return self.expression(node, known)

    def attempt(self, node: ast.Try, known: bool) -> bool:
        tried = self.block(node.orelse, self.block(node.body, known))
        caught = [self.block(handler.body, known) for handler in node.handlers]
        return self.block(node.finalbody, all([tried, *caught]))

    def branches(self, known: bool, body: list[ast.stmt], orelse: list[ast.stmt]) -> bool:
        results = [
            self.block(branch, known) or (bool(branch) and isinstance(branch[-1], ast.Return | ast.Raise))
            for branch in (body, orelse)
        ]
        return all(results)

    def assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign, known: bool) -> bool:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if node.value is not None:
            known = self.expression(node.value, known)
        if isinstance(node, ast.AugAssign) and self.is_attribute(node.target):
            return known  # `self.n += 1` alone is no use of the number
        for target in targets:
            known = self.target(target, known)
        return known

    def target(self, node: ast.expr, known: bool) -> bool:
        match node:
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element in elements:
                    known = self.target(element, known)
                return known
            case ast.Subscript(value=value, slice=index) if self.is_attribute(container := held_in(value)):
                self.indices(value, container, known)
                self.expression(index, known)
                return True
        return self.was_set() if self.is_attribute(node, whole=False) else self.expression(node, known)

    def was_set(self) -> bool:
        self.use.sets += 1
        return True

    def expression(self, node: ast.AST, known: bool) -> bool:
        match node:
            case ast.Call():
                return self.call(node, known)
            case ast.Attribute(ctx=ast.Load()) if self.is_attribute(node):
                self.read(known)
                return known
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if _is_property(self.methods.get(name)):
                return self.method(name, known=known)
            case ast.Lambda(body=body):
                self.expression(body, known)
                return known
        for child in ast.iter_child_nodes(node):
            known = self.statement(child, known) if isinstance(child, ast.stmt) else self.expression(child, known)
        return known

    def read(self, known: bool) -> None:
        if known:
            self.use.late += 1
        else:
            self.use.early += 1

    def call(self, node: ast.Call, known: bool) -> bool:
        for part in (*node.args, *(word.value for word in node.keywords)):
            known = self.expression(part, known)
        match node.func:
            case ast.Attribute(value=ast.Name(id="self"), attr=name) if name in self.methods:
                return self.method(name, known=known)
            case ast.Attribute(value=owner, attr=name) if self.is_attribute(held_in(owner)) and name in _SILENT:
                self.indices(owner, held_in(owner), known)
                return self.was_set() if name == "clear" and self.is_attribute(owner) else known
            case ast.Name(id="getattr" | "hasattr") if _names(node, self.attribute):
                self.read(known)
            case ast.Name(id="setattr") if _names(node, self.attribute):
                return self.was_set()
        return self.expression(node.func, known)

    def indices(self, item: ast.expr, container: ast.expr, known: bool) -> None:
        """What stands in the brackets between a container and an item of it."""
        while item is not container and isinstance(item, ast.Subscript):
            self.expression(item.slice, known)
            item = item.value

    def is_attribute(self, node: ast.AST, *, whole: bool = True) -> bool:
        """Is this the attribute, or (not `whole`) an object that holds it?"""
        path = _path(node)
        return path == self.attribute or (not whole and path is not None and self.attribute.startswith(f"{path}."))


def _path(node: ast.AST) -> str | None:
    """The "meter.count" of `self.meter.count`."""
    match node:
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return name
        case ast.Attribute(value=inner, attr=name) if path := _path(inner):
            return f"{path}.{name}"
    return None


def _names(call: ast.Call, attribute: str) -> bool:
    """Is this `getattr(self, "attribute")`, or one with a computed name, which may be any?"""
    match call.args:
        case [ast.Name(id="self"), ast.Constant(value=name), *_]:
            return bool(name == attribute)
        case [ast.Name(id="self"), _, *_]:
            return attribute == "*"
    return False


def _is_property(method: ast.FunctionDef | None) -> bool:
    return method is not None and any(
        isinstance(decorator, ast.Name) and decorator.id in {"property", "cached_property"}
        for decorator in method.decorator_list
    )
