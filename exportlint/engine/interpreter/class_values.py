"""What classes of the project are: what their objects have, and what a call of the class makes."""

from __future__ import annotations

import ast
from contextlib import contextmanager
from typing import TYPE_CHECKING

from exportlint.engine.entry.definitions import (
    before_export,
    class_assignments,
    class_constants,
    constructors,
    defaults,
    nothing,
    on_self,
    sets_attributes,
    written_later,
)
from exportlint.engine.interpreter.arguments import Call
from exportlint.engine.interpreter.environment import Environment
from exportlint.engine.interpreter.function_run import FunctionRun
from exportlint.engine.interpreter.interface import Interpreter
from exportlint.engine.source.symbols import ClassInfo, FunctionInfo
from exportlint.engine.values import library, operators
from exportlint.engine.values.abstract_value import (
    LISTED,
    NONE,
    UNKNOWN,
    Construction,
    Container,
    Instance,
    Module,
    Value,
    exactly,
)
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Iterator


MAX_DEPTH = 14
_OBJECTS = frozenset({Kind.MODULE, Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION})


class ClassValues(Interpreter):
    """The part of the engine that deals with classes."""

    def __init__(self) -> None:
        self._attributes: dict[ClassInfo, dict[str, Value]] = {}
        self._bodies: dict[ClassInfo, dict[str, Value]] = {}
        self._constructions: dict[tuple[object, ...], Construction] = {}
        self._setting: set[ast.AST] = set()  # methods that run for an object under construction
        self._watched: Environment | None = None
        self._depth = 0
        self._silent = 0

    def _entered(self, call: Call) -> Environment | None:
        raise NotImplementedError

    def attributes(self, cls: ClassInfo) -> dict[str, Value]:
        """What `__init__` (and the class body) puts on the object."""
        if cls not in self._attributes:
            self._attributes[cls] = {}
            found: dict[str, Value] = {}
            for base in reversed(cls.lineage):
                found.update(self.class_levels(base))
            for init in reversed(constructors(cls)):
                found.update(self._given_by(init, cls))
            self._attributes[cls] = found
        return self._attributes[cls]

    def _given_by(self, init: FunctionInfo, cls: ClassInfo) -> dict[str, Value]:
        owner = exactly(Module(cls) if cls.is_module else Instance(cls))
        with self._silently():
            env = Environment(init, Call(init, owner, (), {}, root=True).names(self))
            for name, _ in defaults(init.node):
                env.names[name] = _open(env.names[name])
            FunctionRun(self, env).run(init.node.body)  # type: ignore[arg-type] # a def, whose body is a list
        return {name: before_export(value) for name, value in on_self(env.names).items()}

    def layers(self, cls: ClassInfo | None) -> frozenset[str]:
        """The attributes that hold a layer of torch.nn, which takes a tensor."""
        if cls is None or not cls.is_module:
            return frozenset()
        modules = ((n, v) for n, v in self.attributes(cls).items() if v.kind is Kind.MODULE and v.cls is None)
        return frozenset(n for n, v in modules if v.name not in library.MODULE_CONTAINERS)

    def class_levels(self, cls: ClassInfo) -> dict[str, Value]:
        """What the class body assigns, which is the same for all classes that inherit it."""
        if cls not in self._bodies:
            self._bodies[cls] = {}
            self._bodies[cls] = {name: self._class_level(cls, node) for name, node in class_assignments(cls)}
        return self._bodies[cls]

    def _class_level(self, cls: ClassInfo, node: ast.expr) -> Value:
        value = self.before_export(FunctionInfo("<class>", nothing(), cls.module, cls), node)
        value = value.but(truth=None)
        return value.but(source=Source.ATTRIBUTE) if value.kind is Kind.TENSOR else value

    def instance(self, cls: ClassInfo, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """What `Cls(…)` makes, with the attributes that these arguments give it."""
        if cls.is_module:
            return exactly(Module(cls, made=self._constructed(cls, args, keywords)))
        if cls.is_autograd_function:
            return exactly(Instance(cls))
        if cls.is_record:
            given = {**dict(zip(cls.record_fields, args, strict=False)), **keywords}
            levels = self.class_levels(cls) if self._watched else {}
            left = {n: v for n, v in levels.items() if n in cls.record_fields and v.kind is Kind.SCALAR}
            return exactly(Instance(cls, fields=tuple({**left, **given}.items())))
        init = cls.method("__init__")
        if init is None and args and cls.is_list:
            return exactly(Instance(cls, fields=((LISTED, args[0].element or UNKNOWN),)))
        if init is None or cls.is_loss:
            return exactly(Instance(cls))
        env = self._entered(Call(init, exactly(Instance(cls)), args, keywords))
        written = written_later(cls) if self._watched else None
        levels = class_constants(cls) if self._watched else {}
        fields = {**levels, **on_self(env.names, written, outlives=self.silent)} if env else {}
        return exactly(Instance(cls, fields=tuple((n, v.plain) for n, v in fields.items())))

    def _constructed(self, cls: ClassInfo, args: tuple[Value, ...], keywords: dict[str, Value]) -> Construction | None:
        """The attributes that the arguments give: in samples, or where one is an object, a class or a function."""
        init = cls.method("__init__")
        given = (*args, *keywords.values())
        if init is None or not (self._watched or any(value.kind in _OBJECTS for value in given)):
            return None
        key = (cls, tuple(a.plain for a in args), tuple((k, v.plain) for k, v in sorted(keywords.items())))
        if key not in self._constructions:
            made = self._constructions[key] = Construction()
            with self._silently():
                env = self._entered(Call(init, exactly(Module(cls)), args, keywords))
            found = on_self(env.names, written_later(cls)) if env else {}
            made.attributes.update({name: before_export(value) for name, value in found.items()})
        return self._constructions[key]

    def on_self(
        self, method: FunctionInfo, args: tuple[Value, ...], keywords: dict[str, Value], env: Environment
    ) -> Value | None:
        """Run a method of the object under construction: what it sets on self is set in `env`. None: it is not run."""
        sets = method.name == "__init__" or sets_attributes(method)
        if self._depth >= MAX_DEPTH or method.node in self._setting or not sets:
            return None
        names = Call(method, env.names.get("self"), args, keywords).names(self)
        inner = Environment(method, names | {n: v for n, v in env.names.items() if n.startswith("self.")})
        self._depth += 1
        self._setting.add(method.node)
        try:
            FunctionRun(self, inner).run(method.node.body)  # type: ignore[arg-type] # a def, whose body is a list
        finally:
            self._depth -= 1
            self._setting.discard(method.node)
        env.names.update({n: v for n, v in inner.names.items() if n.startswith("self.")})
        return outcome(inner)

    @property
    def watching(self) -> bool:
        """Is code followed that makes a sample, so that what it constructs has to be known well?"""
        return self._watched is not None

    @property
    def silent(self) -> bool:
        """Is the code that runs now no part of the exported program, such as a constructor?"""
        return self._silent > 0

    @contextmanager
    def _silently(self) -> Iterator[None]:
        """Run code that export does not run: nothing of it is remembered."""
        self._silent += 1
        try:
            yield
        finally:
            self._silent -= 1


def outcome(env: Environment) -> Value:
    if env.yielded:
        return exactly(Container("generator", operators.joined(env.yielded)))
    return operators.joined(env.returned) or NONE


def _open(value: Value) -> Value:
    """A constructor argument may be anything of its kind: its default decides no test."""
    return value.but(truth=None, name=None) if value.kind is Kind.SCALAR else value
