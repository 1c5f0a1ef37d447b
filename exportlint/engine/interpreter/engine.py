"""The engine: runs every forward in the abstract, follows calls, and remembers what each expression was.

A function is run once for every kind of arguments it gets. What it learns is kept by position, so that a rule that
reads another syntax tree of the same file can ask.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.entry.definitions import class_assignments, defaults, nothing, on_self
from exportlint.engine.entry.export_roots import decorators, forwards, handed_to_export
from exportlint.engine.entry.samples import as_input, samples
from exportlint.engine.interpreter.arguments import Call
from exportlint.engine.interpreter.environment import Environment
from exportlint.engine.interpreter.function_run import FunctionRun
from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
from exportlint.engine.values import library
from exportlint.engine.values.abstract_value import NONE, UNKNOWN, Kind, Source, Value, join
from exportlint.engine.values.beliefs import Belief, span_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exportlint.engine.source.project import Project


MAX_DEPTH = 14
MAX_CONTEXTS = 6


class Engine:
    """All that is known about a project's values. `run(module)` judges every class of the file as an export root."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.beliefs: dict[Path, Belief] = defaultdict(Belief)
        self._results: dict[tuple[object, ...], Value] = {}
        self._contexts: dict[FunctionInfo | ast.AST, int] = defaultdict(int)
        self._attributes: dict[ClassInfo, dict[str, Value]] = {}
        self._levels: dict[tuple[ModuleInfo, str], Value] = {}
        self._bodies: dict[ClassInfo, dict[str, Value]] = {}
        self._depth = 0
        self._silent = 0

    def run(self, module: ModuleInfo) -> None:
        """Run every forward that the file defines, and every function it hands to export or compile."""
        for cls, forward in forwards(module):
            self.invoke(forward, Value(Kind.MODULE, cls=cls), (), {}, root=True)
            for node, decorator in decorators(forward, self.project):
                self._decorated(node, decorator, Value(Kind.MODULE, cls=cls))
        for function in handed_to_export(module):
            self.invoke(function, None, (), {}, root=True)
        for model, args in samples(module):
            self._sampled(module, model, args)

    def _decorated(self, node: ast.expr, decorator: FunctionInfo, owner: Value) -> None:
        """Run the function that a decorator puts in the place of a forward; the decorator itself runs before export."""
        wrapper: FunctionInfo | None = decorator
        with self._silently():
            for _ in range(2 if isinstance(node, ast.Call) else 1):
                wrapper = self.invoke(wrapper, None, (UNKNOWN,), {}).function if wrapper else None
        if wrapper:
            self.invoke(wrapper, None, (owner,), {}, root=True)

    def _sampled(self, module: ModuleInfo, model: ast.expr, args: ast.expr) -> None:
        """Run the forward of a model on what the file itself gives it."""
        with self._silently():
            flow = FunctionRun(self, Environment(FunctionInfo("<module>", nothing(), module), {}))
            owner, given = flow.value(model), flow.value(args)
        forward = owner.cls.method("forward") if owner.kind is Kind.MODULE and owner.cls else None
        if forward and given.items:
            self.invoke(forward, owner.plain, tuple(map(as_input, given.items)), {}, root=True)

    # Names.

    def module_level(self, module: ModuleInfo, name: str) -> Value:
        """What a name means when the function does not bind it."""
        key = (module, name)
        if key not in self._levels:
            self._levels[key] = UNKNOWN
            if name in module.assignments:
                self._levels[key] = self._module_assignment(module, name)
            elif dotted := module.origin(name):
                self._levels[key] = self.dotted(dotted)
        return self._levels[key]

    def _module_assignment(self, module: ModuleInfo, name: str) -> Value:
        value = self.before_export(FunctionInfo("<module>", nothing(), module), module.assignments[name])
        kind = Source.ATTRIBUTE if value.kind is Kind.TENSOR else value.source
        return replace(value, source=kind, truth=None if value.kind is Kind.SCALAR else value.truth)

    def dotted(self, name: str) -> Value:
        """The value of an imported or builtin name."""
        found = self.project.find(name)
        if isinstance(found, ClassInfo):
            return Value(Kind.CLASS, cls=found, name=name)
        if isinstance(found, FunctionInfo):
            return Value(Kind.FUNCTION, function=found, name=name)
        if found is None and (owner := self.project.find(name.rpartition(".")[0])) and isinstance(owner, ModuleInfo):
            last = name.rpartition(".")[2]
            if last in owner.assignments:
                return self.module_level(owner, last)
        return library.constant(name) or Value(Kind.UNKNOWN, name=name)

    # Classes.

    def attributes(self, cls: ClassInfo) -> dict[str, Value]:
        """What `__init__` (and the class body) puts on the object."""
        if cls not in self._attributes:
            self._attributes[cls] = {}
            found: dict[str, Value] = {}
            for base in reversed(cls.lineage):
                found.update(self._own_attributes(base, cls))
            self._attributes[cls] = found
        return self._attributes[cls]

    def _own_attributes(self, base: ClassInfo, cls: ClassInfo) -> dict[str, Value]:
        found = dict(self._class_levels(base))
        init = base.methods.get("__init__") or base.methods.get("__post_init__")
        if init:
            owner = Value(Kind.MODULE if cls.is_module else Kind.INSTANCE, cls=cls)
            with self._silently():
                env = Environment(init, Call(init, owner, (), {}, root=True).names(self))
                for name, _ in defaults(init.node):
                    env.names[name] = _open(env.names[name])
                FunctionRun(self, env).run(init.node.body)  # type: ignore[arg-type] # a def, whose body is a list
            found.update(on_self(env.names))
        return found

    def layers(self, cls: ClassInfo | None) -> frozenset[str]:
        """The attributes that hold a layer of torch.nn, which takes a tensor."""
        if cls is None or not cls.is_module:
            return frozenset()
        modules = ((n, v) for n, v in self.attributes(cls).items() if v.kind is Kind.MODULE and v.cls is None)
        return frozenset(n for n, v in modules if v.name not in library.MODULE_CONTAINERS)

    def _class_levels(self, cls: ClassInfo) -> dict[str, Value]:
        """What the class body assigns, which is the same for all classes that inherit it."""
        if cls not in self._bodies:
            self._bodies[cls] = {}
            self._bodies[cls] = {name: self._class_level(cls, node) for name, node in class_assignments(cls)}
        return self._bodies[cls]

    def _class_level(self, cls: ClassInfo, node: ast.expr) -> Value:
        value = self.before_export(FunctionInfo("<class>", nothing(), cls.module, cls), node)
        return replace(value, truth=None, source=Source.ATTRIBUTE if value.kind is Kind.TENSOR else value.source)

    def instance(self, cls: ClassInfo, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """What `Cls(…)` makes, with the attributes that these arguments give it."""
        if cls.is_module:
            return Value(Kind.MODULE, cls=cls)
        if cls.is_autograd_function:
            return Value(Kind.INSTANCE, cls=cls)
        if cls.is_record:
            fields = (*zip(cls.record_fields, args, strict=False), *keywords.items())
            return Value(Kind.INSTANCE, cls=cls, fields=tuple(fields))
        init = cls.method("__init__")
        if init is None or cls.is_loss:
            return Value(Kind.INSTANCE, cls=cls)
        env = self._entered(Call(init, Value(Kind.INSTANCE, cls=cls), args, keywords))
        fields = tuple((n, v.plain) for n, v in on_self(env.names).items()) if env else ()
        return Value(Kind.INSTANCE, cls=cls, fields=fields)

    # Calls.

    def invoke(
        self,
        function: FunctionInfo,
        owner: Value | None,
        args: tuple[Value, ...],
        keywords: dict[str, Value],
        *,
        root: bool = False,
    ) -> Value:
        """What the function returns for these arguments; its body is judged on the way."""
        if not isinstance(function.node, ast.Lambda):
            if function.cls and function.cls.is_autograd_function and function.name == "forward":
                args = (UNKNOWN, *args)
            if "typing.overload" in function.decorators or (function.cls and function.cls.is_loss):
                return UNKNOWN
        key = (
            function.node,
            owner.plain if owner else None,
            tuple(a.plain for a in args),
            tuple((k, v.plain) for k, v in sorted(keywords.items())),
            root,
            self.silent,  # what ran unseen is still to be seen
        )
        if key not in self._results:
            self._results[key] = UNKNOWN  # recursion ends here
            env = self._entered(Call(function, owner, args, keywords, root))
            self._results[key] = _outcome(env) if env else UNKNOWN
        return self._results[key]

    def _entered(self, call: Call) -> Environment | None:
        """Run the body; None where calls are too deep, or the function was run for enough kinds of arguments."""
        node = call.function.node
        if self._depth >= MAX_DEPTH or (not self._silent and self._contexts[node] >= MAX_CONTEXTS):
            return None
        if not self._silent:
            self._contexts[node] += 1
        self._depth += 1
        try:
            env = Environment(call.function, call.names(self))
            run = FunctionRun(self, env)
            if isinstance(node, ast.Lambda):
                env.returned.append(run.value(node.body))
            elif not run.run(node.body):
                env.returned.append(NONE)
        finally:
            self._depth -= 1
        if not self._silent:
            self._keep(env)
        return env

    def before_export(self, function: FunctionInfo, node: ast.expr) -> Value:
        """The value of an expression beside a function, such as a default, which runs before export does."""
        with self._silently():
            return FunctionRun(self, Environment(function, {})).value(node)

    def _keep(self, env: Environment) -> None:
        belief = self.beliefs[env.module.path]
        if env.function.name != "<lambda>":
            belief.reached.setdefault(env.function)
        for span, value in env.values.items():
            old = belief.values.get(span)
            if old is None or old.kind is Kind.UNKNOWN or (value.is_data and not old.is_data):
                belief.values[span] = value
        for span in env.dead - env.alive - env.values.keys():
            belief.dead[span] = belief.dead.get(span, 0) + 1
        whole = span_of(env.function.node)
        if whole:
            belief.runs[whole] = belief.runs.get(whole, 0) + 1

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


def _outcome(env: Environment) -> Value:
    if env.yielded:
        element = env.yielded[0]
        for value in env.yielded[1:]:
            element = join(element, value)
        return Value(Kind.CONTAINER, container="generator", element=element)
    whole = env.returned[0] if env.returned else NONE
    for value in env.returned[1:]:
        whole = join(whole, value)
    return whole


def _open(value: Value) -> Value:
    """A constructor argument may be anything of its kind: its default decides no test."""
    return replace(value, truth=None, name=None) if value.kind is Kind.SCALAR else value
