"""The engine: runs every forward in the abstract, follows calls, and remembers what each expression was.

A function is run once for every kind of arguments it gets. What it learns is kept by position, so that a rule that
reads another syntax tree of the same file can ask.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from contextlib import contextmanager
from typing import TYPE_CHECKING

from exportlint.engine.entry.definitions import (
    before_export,
    class_assignments,
    class_constants,
    defaults,
    nothing,
    on_self,
    sets_attributes,
    written_later,
)
from exportlint.engine.entry.export_roots import decorators, forwards, handed_to_export
from exportlint.engine.entry.registries import with_registered
from exportlint.engine.entry.samples import Sample, sample_of_call
from exportlint.engine.interpreter.arguments import Call
from exportlint.engine.interpreter.environment import Environment
from exportlint.engine.interpreter.function_run import FunctionRun
from exportlint.engine.interpreter.sample_run import judge, samples_of
from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
from exportlint.engine.values import library, operators
from exportlint.engine.values.abstract_value import (
    NONE,
    TENSOR,
    UNKNOWN,
    Class,
    Construction,
    Container,
    Function,
    Instance,
    Module,
    Unknown,
    Value,
    exactly,
)
from exportlint.engine.values.beliefs import Belief, span_of
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.entry.sample_code import SampleCode
    from exportlint.engine.source.project import Project


MAX_DEPTH = 14
MAX_CONTEXTS = 6
_CONTEXTS_WITH_DIMS = 3  # after so many kinds of arguments a function is run for any sizes
_MADE_OPERATORS = frozenset({"torch.library.custom_op", "torch.library.triton_op", "torch.library.impl"})
_OBJECTS = frozenset({Kind.MODULE, Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION})


class Engine:
    """All that is known about a project's values. `run(module)` judges every class of the file as an export root."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.beliefs: dict[Path, Belief] = defaultdict(Belief)
        self._results: dict[tuple[object, ...], Value] = {}
        self._changed: dict[tuple[object, ...], dict[int | str, Value]] = {}
        self._contexts: dict[FunctionInfo | ast.AST, int] = defaultdict(int)
        self._attributes: dict[ClassInfo, dict[str, Value]] = {}
        self._levels: dict[tuple[ModuleInfo, str], Value] = {}
        self._bodies: dict[ClassInfo, dict[str, Value]] = {}
        self._constructions: dict[tuple[object, ...], Construction] = {}
        self._samples: list[Sample] = []
        self._watched: Environment | None = None
        self._ran: set[ClassInfo] = set()  # classes whose forwards were judged
        self._setting: set[ast.AST] = set()  # methods that run for an object under construction
        self.training = False  # export wants eval mode; train mode has its own rule
        self._depth = 0
        self._silent = 0

    def run(self, module: ModuleInfo, targets: Sequence[DeclaredTarget] = ()) -> None:
        """Run every forward that the file defines, and every function it hands to export or compile.

        `targets` are those that the project's configuration names.
        """
        samples = samples_of(self, module, targets)
        for sample in samples:
            if sample.exported:
                judge(self, module, sample)
        sampled = set(self._ran)
        self.beliefs[module.path].sampled = frozenset(sampled)
        for cls, forward in forwards(module):
            owner = exactly(Module(cls))
            if cls not in sampled:  # or it was judged by what it is really made of and given
                self.invoke(forward, owner, (), {}, root=True)
            for node, decorator in decorators(forward, self.project):
                self._decorated(node, decorator, owner)
        for function in handed_to_export(module):
            self.invoke(function, None, (), {}, root=True)
        for sample in samples:
            if not sample.exported:  # it adds to what was found without it
                judge(self, module, sample, sampled)

    def _decorated(self, node: ast.expr, decorator: FunctionInfo, owner: Value) -> None:
        """Run the function that a decorator puts in the place of a forward; the decorator itself runs before export."""
        wrapper: FunctionInfo | None = decorator
        with self._silently():
            for _ in range(2 if isinstance(node, ast.Call) else 1):
                wrapper = self.invoke(wrapper, None, (UNKNOWN,), {}).function if wrapper else None
        if wrapper:
            self.invoke(wrapper, None, (owner,), {}, root=True)

    def followed(self, code: SampleCode) -> tuple[dict[str, Value], list[Sample]]:
        """Run code that is no part of a model: the names that it leaves, and the samples that it calls models with."""
        self._samples = []
        with self._silently():
            env = Environment(code.function, Call(code.function, None, (), {}, root=True).names(self))
            self._watched = env
            FunctionRun(self, env).run(code.statements)
            self._watched = None
        return env.names, self._samples

    def watch(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], env: Environment) -> None:
        """Note a call that gives a model inputs, where samples are looked for."""
        if env is self._watched:
            self._samples += sample_of_call(function, args, keywords)

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
        if value.container == "dict":
            return with_registered(module, name, value)
        if value.kind is Kind.SCALAR and not module.is_constant(name):
            value = value.but(truth=None, name=None)
        return value.but(source=Source.ATTRIBUTE) if value.kind is Kind.TENSOR else value

    def dotted(self, name: str) -> Value:
        """The value of an imported or builtin name."""
        found = self.project.find(name)
        if isinstance(found, ClassInfo):
            return exactly(Class(found, name))
        if isinstance(found, FunctionInfo):
            return exactly(Function(found, name=name))
        if found is None and (owner := self.project.find(name.rpartition(".")[0])) and isinstance(owner, ModuleInfo):
            last = name.rpartition(".")[2]
            if last in owner.assignments:
                return self.module_level(owner, last)
        return library.constant(name) or exactly(Unknown(name))

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
        found = dict(self.class_levels(base))
        init = base.methods.get("__init__") or base.methods.get("__post_init__")
        if init:
            owner = exactly(Module(cls) if cls.is_module else Instance(cls))
            with self._silently():
                env = Environment(init, Call(init, owner, (), {}, root=True).names(self))
                for name, _ in defaults(init.node):
                    env.names[name] = _open(env.names[name])
                FunctionRun(self, env).run(init.node.body)  # type: ignore[arg-type] # a def, whose body is a list
            found.update({name: before_export(value) for name, value in on_self(env.names).items()})
        return found

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
        if init is None or cls.is_loss:
            return exactly(Instance(cls))
        env = self._entered(Call(init, exactly(Instance(cls)), args, keywords))
        written = written_later(cls) if self._watched else None
        levels = class_constants(cls) if self._watched else {}
        fields = {**levels, **on_self(env.names, written)} if env else {}
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
        if self._depth >= MAX_DEPTH or method.node in self._setting or not sets_attributes(method):
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
        return _outcome(inner)

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
            if not _MADE_OPERATORS.isdisjoint(function.decorators):
                return TENSOR  # a custom operator: export does not look into its body
        if self._contexts[function.node] >= _CONTEXTS_WITH_DIMS and not root:
            args = tuple(value.but(dims=None, extent=None) for value in args)
            keywords = {name: value.but(dims=None, extent=None) for name, value in keywords.items()}
        key = self._key(function, owner, args, keywords, root=root)
        if key not in self._results:
            self._results[key] = UNKNOWN  # recursion ends here
            call = Call(function, owner, args, keywords, root)
            env = self._entered(call)
            self._results[key] = _outcome(env) if env else UNKNOWN
            if env and (changed := call.changed(env.names)):
                self._changed[key] = changed
        return self._results[key]

    def _key(
        self,
        function: FunctionInfo,
        owner: Value | None,
        args: tuple[Value, ...],
        keywords: dict[str, Value],
        *,
        root: bool = False,
    ) -> tuple[object, ...]:
        """What decides how a call goes."""
        return (
            function.node,
            owner.plain if owner else None,
            tuple(a.plain for a in args),
            tuple((k, v.plain) for k, v in sorted(keywords.items())),
            root,
            self.silent,  # what ran unseen is still to be seen
            self.training,
        )

    def changed(
        self, function: FunctionInfo, owner: Value | None, args: tuple[Value, ...], keywords: dict[str, Value]
    ) -> dict[int | str, Value]:
        """The containers among the arguments that a call has changed, by place or keyword."""
        return self._changed.get(self._key(function, owner, args, keywords), {}) if self._changed else {}

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
            if call.owner is not None and call.owner.cls and call.function.name == "forward":
                self._ran.add(call.owner.cls)
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
            if old is None or old.kind is Kind.UNKNOWN or _says_more(value, old):
                belief.values[span] = value
        for span in env.dead - env.alive - env.values.keys():
            belief.dead[span] = belief.dead.get(span, 0) + 1
        whole = span_of(env.function.node)
        if whole:
            belief.runs[whole] = belief.runs.get(whole, 0) + 1

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


def _says_more(value: Value, old: Value) -> bool:
    """Is it data here, and was it not, or not surely, in the contexts before?"""
    return (value.may_be_data and not old.may_be_data) or (value.is_data and not old.is_data)


def _outcome(env: Environment) -> Value:
    if env.yielded:
        return exactly(Container("generator", operators.joined(env.yielded)))
    return operators.joined(env.returned) or NONE


def _open(value: Value) -> Value:
    """A constructor argument may be anything of its kind: its default decides no test."""
    return value.but(truth=None, name=None) if value.kind is Kind.SCALAR else value
