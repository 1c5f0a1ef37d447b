"""Where a class of the file sets and reads one attribute of its objects, by the syntax of all its methods."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ClassInfo, ModuleInfo


Store = ast.Assign | ast.AnnAssign | ast.AugAssign


@dataclass
class OwnAttribute:
    """`self.name` in the methods of a class and of those bases that the same file defines."""

    cls: ClassInfo
    name: str

    @property
    def module(self) -> ModuleInfo:
        return self.cls.module

    @cached_property
    def methods(self) -> dict[str, list[ast.FunctionDef]]:
        """By name, those that are overridden too."""
        found: dict[str, list[ast.FunctionDef]] = {}
        for cls in self.cls.lineage:
            for method in cls.methods.values() if cls.module is self.module else ():
                if isinstance(method.node, ast.FunctionDef):
                    found.setdefault(method.name, []).append(method.node)
        return found

    @cached_property
    def definition(self) -> ast.stmt | None:
        """The only statement of `__init__` that sets it, plainly; or that registers it as a buffer."""
        if self._is_set_from_outside():
            return None
        found = [
            one for init in self.methods.get("__init__", ()) for one in (*self.stores_in(init), *self._registers(init))
        ]
        match found:
            case [ast.Assign(targets=[_]) | ast.AnnAssign(value=ast.expr()) as only] if self.is_own(_target(only)):
                return only
            case [ast.Expr() as only]:
                return only
        return None

    def _is_set_from_outside(self) -> bool:
        """Does a class made of it, or other code of the file, set an attribute of this name?"""
        own = {id(one) for cls in self.cls.lineage if cls.module is self.module for one in ast.walk(cls.node)}
        heirs = [cls for cls in self.module.classes.values() if cls is not self.cls and self.cls in cls.lineage]
        others = [one for one in ast.walk(self.module.parsed.tree) if id(one) not in own]
        stored = (one for one in others if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store))
        of_heirs = {id(one) for cls in heirs for one in ast.walk(cls.node)}
        return any(one.attr == self.name and (not _is_self(one.value) or id(one) in of_heirs) for one in stored)

    @property
    def defined(self) -> ast.expr | None:
        """What `__init__` sets it to."""
        match self.definition:
            case ast.Assign(value=value) | ast.AnnAssign(value=value):
                return value
            case ast.Expr(value=ast.Call(args=[_, value, *_])):
                return value
        return None

    def as_in_init(self, node: ast.expr) -> str:
        """As source; the `n` of `__init__` for a `self.n` that is always that."""
        match node:
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                other = OwnAttribute(self.cls, name)
                if isinstance(other.defined, ast.Name | ast.Constant) and not other.stores:
                    return ast.unparse(other.defined)
        return ast.unparse(node)

    def _registers(self, node: ast.AST) -> Iterator[ast.Expr]:
        for one in ast.walk(node):
            match one:
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=name), _, *_])
                ):
                    if name == self.name:
                        yield one

    @cached_property
    def stores(self) -> tuple[Store, ...]:
        """All that set it outside of `__init__`."""
        return tuple(
            store
            for name, methods in self.methods.items()
            for method in methods
            for store in (self.stores_in(method) if name != "__init__" else ())
        )

    def stores_in(self, node: ast.AST) -> Iterator[Store]:
        for one in ast.walk(node):
            match one:
                case ast.Assign(targets=targets) if any(map(self._among, targets)):
                    yield one
                case ast.AnnAssign(target=target, value=ast.expr()) | ast.AugAssign(target=target) if self.is_own(
                    target
                ):
                    yield one

    @cached_property
    def run(self) -> tuple[ast.FunctionDef, ...]:
        """The methods that a call of forward can reach by `self.method`, forward among them; without a forward, all."""
        others = [name for name in self.methods if name != "__init__"]
        todo, done = ["forward"] if "forward" in self.methods else others, set[str]()
        while todo:
            name = todo.pop()
            if name in self.methods and name not in done:
                done.add(name)
                reads = (one for method in self.methods[name] for one in ast.walk(method))
                todo += [one.attr for one in reads if isinstance(one, ast.Attribute) and _is_self(one.value)]
        return tuple(method for name in done for method in self.methods[name])

    def reads_in(self, node: ast.AST) -> Iterator[ast.Attribute]:
        for one in ast.walk(node):
            if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Load) and self.is_own(one):
                yield one

    def is_own(self, node: ast.AST) -> bool:
        return isinstance(node, ast.Attribute) and node.attr == self.name and _is_self(node.value)

    def mentions(self, node: ast.AST) -> bool:
        return any(map(self.is_own, ast.walk(node)))

    def _among(self, target: ast.expr) -> bool:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        return any(map(self.is_own, parts))


def _target(node: ast.Assign | ast.AnnAssign) -> ast.expr:
    return node.targets[0] if isinstance(node, ast.Assign) else node.target


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
