"""State in attributes with computed names, `setattr(self, f"echo_{i}", y)`, as registered buffers."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.registered import Registered
from exportlint.rule.editing.repair import Elsewhere, ModuleImport

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_ANY = ".*"


@dataclass
class ComputedNames:
    """All attributes of self that a `setattr` of forward may mean, each of which `__init__` sets to a tensor."""

    code: Code
    name: ast.expr

    def changes(self) -> tuple[AnyChange, ...] | None:
        """None where one of them begins with something else, or is set in another way, too."""
        made = list(self._made())
        if not made or any(one is None for one in made) or not self._is_only_way():
            return None
        written = [change for call in self._sets for change in self._written(call)]
        return (*(one for one in made if one is not None), *written, *self._kept_apart(), ModuleImport("torch"))

    @cached_property
    def _own(self) -> OwnAttribute:
        assert self.code.cls is not None  # noqa: S101 - the caller asked
        return OwnAttribute(self.code.cls, "")

    @cached_property
    def _pattern(self) -> str:
        return self._pattern_of(self.name, self.code.function.node if self.code.function else None)

    def _pattern_of(self, name: ast.expr, function: ast.AST | None) -> str:
        """What names it may give; of a variable, what the function sets that to."""
        match name:
            case ast.Constant(value=str() as text):
                return re.escape(text)
            case ast.JoinedStr(values=parts):
                return "".join(
                    re.escape(one.value) if isinstance(one, ast.Constant) and isinstance(one.value, str) else _ANY
                    for one in parts
                )
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self._pattern_of(left, function) + self._pattern_of(right, function)
            case ast.Name(id=variable) if function is not None:
                values = [value for value in _values(function, variable) if value is not name]
                return self._pattern_of(values[0], None) if len(values) == 1 else _ANY
        return _ANY

    def _is_meant(self, name: ast.expr, function: ast.AST) -> bool:
        pattern = self._pattern_of(name, function)
        return pattern == self._pattern or re.fullmatch(self._pattern, pattern.replace("\\", "")) is not None

    def _made(self) -> Iterator[Elsewhere | None]:
        """The lines of `__init__` that set them; None of one that is no tensor."""
        for init in self._own.methods.get("__init__", ()):
            for node in ast.walk(init):
                match node:
                    case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[target, name, value])):
                        if _is_self(target) and self._is_meant(name, init):
                            yield self._registered(node, self._source(name), value)
                    case ast.Assign(targets=[ast.Attribute(value=owner, attr=attr)], value=value):
                        if _is_self(owner) and self._pattern != _ANY and re.fullmatch(self._pattern, attr):
                            yield self._registered(node, f'"{attr}"', value)

    def _registered(self, node: ast.stmt, name: str, value: ast.expr) -> Elsewhere | None:
        first = Registered(self.code, self._own).first_value(value) if isinstance(value, ast.Call) else None
        return Elsewhere(node, f"self.register_buffer({name}, {first}, persistent=False)") if first else None

    @cached_property
    def _sets(self) -> tuple[ast.Expr, ...]:
        """In other methods than `__init__`."""
        nodes = (
            (method, node)
            for name, methods in self._own.methods.items()
            for method in methods
            for node in (ast.walk(method) if name != "__init__" else ())
        )
        return tuple(
            node
            for method, node in nodes
            if isinstance(node, ast.Expr) and (name := _set_name(node.value)) and self._is_meant(name, method)
        )

    def _is_only_way(self) -> bool:
        """Does nothing set one of them by a plain name, or delete it?"""
        methods = (one for name, found in self._own.methods.items() if name != "__init__" for one in found)
        for node in (node for method in methods for node in ast.walk(method)):
            match node:
                case ast.Attribute(value=owner, attr=attr, ctx=ast.Store() | ast.Del()) if _is_self(owner):
                    if re.fullmatch(self._pattern, attr):
                        return False
                case ast.Call(func=ast.Name(id="delattr")):
                    return False
        return True

    def _written(self, call: ast.Expr) -> Iterator[Elsewhere]:
        match call.value:
            case ast.Call(args=[_, name, value]):
                yield Elsewhere(call, f"getattr(self, {self._source(name)}).copy_({self._source(value)})")

    def _kept_apart(self) -> Iterator[Elsewhere]:
        """What is given a name before a write must not change with it."""
        for method in self._own.run:
            for node in ast.walk(method):
                match node:
                    case ast.Assign(targets=[ast.Name()], value=value) | ast.Return(value=ast.expr() as value):
                        if (name := _read_name(value)) and self._is_meant(name, method):
                            yield Elsewhere(value, f"{self._source(value)}.clone()")

    def _source(self, node: ast.AST) -> str:
        return Registered(self.code, self._own).source(node)


def _values(function: ast.AST, variable: str) -> Iterator[ast.expr]:
    """What a function sets a variable to; a name of its own where that is not plain."""
    for node in ast.walk(function):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if name == variable:
                yield value
            case ast.Name(id=name, ctx=ast.Store()) if name == variable:
                pass
            case ast.For(target=target) | ast.comprehension(target=target):
                if any(isinstance(one, ast.Name) and one.id == variable for one in ast.walk(target)):
                    yield target


def _set_name(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Name(id="setattr"), args=[target, name, _]) if _is_self(target):
            return name
    return None


def _read_name(node: ast.expr) -> ast.expr | None:
    match node:
        case ast.Call(func=ast.Name(id="getattr"), args=[target, name]) if _is_self(target):
            return name
    return None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"
