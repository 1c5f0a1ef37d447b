"""The engine: runs every forward in the abstract, follows calls, and remembers what each expression was.

It starts where export does: at samples, where a file gives any, else at each `forward` with parameters that are typed
by annotation and use. A call of a function of the project runs its body with what it is given (`invoke`), once for each
kind of arguments: the result is kept under everything that can change how the body goes. Contexts are limited, in depth
and in number, because a helper that a large code base calls from everywhere would be run for ever; what goes beyond the
limit is unknown, which costs findings and never makes a wrong one.

Much of a model does not run under export: constructors, defaults, module-level assignments, the code that makes
samples. It is run all the same, `_silently`: its values are needed, and nothing of it may be reported.

What is learnt is kept by place (`beliefs`), since a rule reads the same file with another parser.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from exportlint.engine.entry.definitions import (
    attributes_after_init,
    class_assignments,
    class_constants,
    constructors,
    defaults,
    of_default,
    read_before_export,
    sets_attributes,
    with_registered,
    written_later,
)
from exportlint.engine.entry.export_roots import decorators, forwards, handed_to_export
from exportlint.engine.entry.parameters import annotated, used
from exportlint.engine.entry.samples import Sample, code_of_target, named_sample, sample_codes, sample_of_call
from exportlint.engine.interpreter.evaluation import Environment, Interpreter
from exportlint.engine.interpreter.statements import FunctionRun
from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
from exportlint.engine.values import library
from exportlint.engine.values.abstract_value import (
    LISTED,
    NONE,
    TENSOR,
    UNKNOWN,
    Belief,
    Class,
    Construction,
    Container,
    Function,
    Instance,
    Kind,
    Module,
    Scalar,
    Source,
    Unknown,
    Value,
    exactly,
    join_all,
    span_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from pathlib import Path

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.entry.samples import SampleCode
    from exportlint.engine.source.symbols import Project


_Known = TypeVar("_Known")
_Of = TypeVar("_Of")
# Calls in calls, and kinds of arguments that one function is run for: beyond them a call gives what is not known.
MAX_DEPTH = 14
MAX_CONTEXTS = 6
# Sizes multiply contexts (a block that is called for each of six widths); after so many, a function is run for any.
_CONTEXTS_WITH_DIMS = 3
_OBJECTS = frozenset({Kind.MODULE, Kind.INSTANCE, Kind.CLASS, Kind.FUNCTION})
_MADE_OPERATORS = frozenset({"torch.library.custom_op", "torch.library.triton_op", "torch.library.impl"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a function. `root`: export enters here, so that nobody passes anything and defaults may be replaced."""

    function: FunctionInfo
    owner: Value | None
    args: tuple[Value, ...]
    keywords: dict[str, Value]
    root: bool = False

    def names(self, engine: Interpreter) -> dict[str, Value]:
        """Parameter -> what it holds when the body begins."""
        spec = self.function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        found: dict[str, Value] = {}
        if self._takes_owner():
            found[positional.pop(0).arg] = self.owner or exactly(Instance(self.function.cls))
        fallbacks = dict(defaults(self.function.node))
        for i, parameter in enumerate([*positional, *spec.kwonlyargs]):
            by_place = i < min(len(self.args), len(positional))
            passed = self.args[i] if by_place else self.keywords.get(parameter.arg)
            found[parameter.arg] = self._parameter(engine, parameter, passed, fallbacks.get(parameter.arg))
        if spec.vararg:
            rest = self.args[len(positional) :]
            found[spec.vararg.arg] = exactly(Container("tuple", rest[0] if rest else None, rest or None))
        if spec.kwarg:
            known = {p.arg for p in (*positional, *spec.kwonlyargs)}
            extra = tuple((k, v.plain) for k, v in self.keywords.items() if k not in known)
            found[spec.kwarg.arg] = exactly(Container("dict", fields=extra))
        return found

    def changed(self, names: dict[str, Value]) -> dict[int | str, Value]:
        """The containers that the body has filled, by place or keyword; `names` are those at its end."""
        spec = self.function.node.args
        positional = [p.arg for p in (*spec.posonlyargs, *spec.args)][1 if self._takes_owner() else 0 :]
        given: dict[int | str, tuple[str, Value]] = {
            **{i: (name, value) for i, (name, value) in enumerate(zip(positional, self.args, strict=False))},
            **{name: (name, value) for name, value in self.keywords.items()},
        }
        return {place: names[name] for place, (name, value) in given.items() if _is_filled(value, names.get(name))}

    def _takes_owner(self) -> bool:
        """Is the first parameter the object, or the class?"""
        function, spec = self.function, self.function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        return bool(
            positional
            and function.cls
            and "builtins.staticmethod" not in function.decorators
            and (self.owner is not None or positional[0].arg in {"self", "cls"})
            and function.name != "<lambda>"
            and function.cls.methods.get(function.name) is function
        )

    def _parameter(
        self, engine: Interpreter, parameter: ast.arg, passed: Value | None, default: ast.expr | None
    ) -> Value:
        """What the caller passes; where that is unknown, what the function says and does."""
        name = self.function.name
        if passed is not None and passed.kind is not Kind.UNKNOWN:
            step = f"`{parameter.arg}` of {name}"
            return passed.because(step, parameter.lineno, self.function.module.path) if passed.is_data else passed
        if default is not None and passed is None and not self.root:
            return engine.before_export(self.function, default)
        found = self._by_itself(engine, parameter, passed, default)
        if found.kind is not Kind.TENSOR:
            return found
        step = f"parameter `{parameter.arg}` of {name}"
        return found.because(step, parameter.lineno, self.function.module.path)

    def _by_itself(
        self, engine: Interpreter, parameter: ast.arg, passed: Value | None, default: ast.expr | None
    ) -> Value:
        promised = annotated(parameter.annotation, self.function.module)
        if default is not None and passed is None:
            fallback = of_default(default)
            if promised.kind is Kind.UNKNOWN and fallback.kind is not Kind.NONE:
                return fallback
            if promised.kind is not Kind.UNKNOWN and fallback.kind is Kind.NONE:
                promised = promised.or_none()
        if promised.kind is Kind.UNKNOWN:
            promised = used(self.function, parameter.arg, engine.layers(self.function.cls))
            if default is not None and promised.kind is not Kind.UNKNOWN:
                promised = promised.or_none()
        return promised


def _is_filled(before: Value, after: Value | None) -> bool:
    """Is it the same container, with more in it? (A name that was bound anew holds another one, which has not all.)"""
    if after is None or before.container is None or before.container != after.container:
        return False
    return after.options != before.options and {f[0] for f in before.fields} <= {f[0] for f in after.fields}


class Engine(Interpreter):
    """All that is known about a project's values. `run(module)` judges every class of the file as an export root."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.beliefs: dict[Path, Belief] = defaultdict(Belief)
        self.training = False  # export wants eval mode; train mode has its own rule
        self.operators = 0
        # What was computed once: results and filled arguments of calls, by what decides how a call goes, and what
        # constructions give their objects. What is so whoever asks, the project remembers.
        self._results: dict[tuple[object, ...], Value] = {}
        self._changed: dict[tuple[object, ...], dict[int | str, Value]] = {}
        self._constructions: dict[tuple[object, ...], Construction] = {}
        # Where the run stands.
        self._contexts: dict[FunctionInfo | ast.AST, int] = defaultdict(int)
        self._depth = 0
        self._silent = 0
        self._setting_up: set[ast.AST] = set()  # methods that run for an object under construction
        self._watched: Environment | None = None
        self._samples: list[Sample] = []
        self._ran: set[ClassInfo] = set()  # classes whose forwards were judged

    def run(self, module: ModuleInfo, targets: Sequence[DeclaredTarget] = ()) -> None:
        """Run every forward that the file defines, and every function it hands to export or compile.

        `targets` are those that the project's configuration names.
        """
        samples = self._samples_of(module, targets)
        self.beliefs[module.path].exports = tuple(sample.export_call for sample in samples if sample.exported)
        for sample in samples:
            if sample.exported:
                self._judge(module, sample)
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
                self._judge(module, sample, sampled)
        declares = any(sample.declares_dims for sample in samples)
        for belief in self.beliefs.values():
            belief.declares_dims = declares

    def _decorated(self, node: ast.expr, decorator: FunctionInfo, owner: Value) -> None:
        """Run the function that a decorator puts in the place of a forward; the decorator itself runs before export."""
        wrapper: FunctionInfo | None = decorator
        with self._silently():
            for _ in range(2 if isinstance(node, ast.Call) else 1):  # `@cached(8)`: what makes the decorator, too
                wrapper = self.invoke(wrapper, None, (UNKNOWN,), {}).function if wrapper else None
        if wrapper:
            self.invoke(wrapper, None, (owner,), {}, root=True)

    # Samples.

    def _samples_of(self, module: ModuleInfo, targets: Sequence[DeclaredTarget]) -> list[Sample]:
        """Those that the file gives, and the targets whose model's class stands in it."""
        found: list[Sample] = []
        for code in sample_codes(module):
            names, calls = self._follow(code)
            found += calls if any(call.exported for call in calls) else [*calls, *named_sample(names)]
        for target in targets if any(forwards(module)) else ():
            names = {}
            for code in code_of_target(target, self.project):
                names |= self._follow(code)[0]
            found += [sample for sample in named_sample(names) if sample.is_of(module)]
        return found

    def _judge(self, module: ModuleInfo, sample: Sample, known: Collection[ClassInfo] = ()) -> None:
        """Run the forward of a sample's model, unless its class is known."""
        for option in sample.model.options:
            if not isinstance(option, Module) or option.cls in known:
                continue
            forward = option.cls.method("forward") if option.cls else None
            given, keywords = sample.given(forward.parameters[1:] if forward else ())
            self.training = ("training", exactly(Scalar("bool", truth=True))) in option.fields
            if forward:
                self.invoke(forward, exactly(option), given, keywords, root=True)
            elif not option.cls:
                env = Environment(FunctionInfo.outside("<sample>", module), {})
                FunctionRun(self, env).apply(exactly(option), given)
            self.training = False

    def _follow(self, code: SampleCode) -> tuple[dict[str, Value], list[Sample]]:
        """Run code that is no part of a model: the names that it leaves, and the samples that it calls models with."""
        self._samples = []
        with self._silently():
            env = Environment(code.function, Call(code.function, None, (), {}, root=True).names(self))
            self._watched = env
            FunctionRun(self, env).run(code.statements)
            self._watched = None
        return env.names, self._samples

    def watch(
        self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], env: Environment, node: ast.Call
    ) -> None:
        """Note a call that gives a model inputs, where samples are looked for."""
        if env is self._watched:
            self._samples += sample_of_call(function, args, keywords, span_of(node))

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
                args = (UNKNOWN, *args)  # `ctx`, which `apply` puts before the arguments
            if "typing.overload" in function.decorators or (function.cls and function.cls.is_loss):
                return UNKNOWN
            if not _MADE_OPERATORS.isdisjoint(function.decorators):
                return TENSOR  # a custom operator: export does not look into its body
        if self._contexts[function.node] >= _CONTEXTS_WITH_DIMS and not root:
            args = tuple(value.but(dims=None, extent=None) for value in args)
            keywords = {name: value.but(dims=None, extent=None) for name, value in keywords.items()}
        key = self._key(function, owner, args, keywords, root=root)
        if key not in self._results:
            self._results[key] = UNKNOWN  # recursion ends here, with what is not known
            call = Call(function, owner, args, keywords, root)
            env = self._run_body(call)
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
            self.operators > 0,
        )

    def changed(
        self, function: FunctionInfo, owner: Value | None, args: tuple[Value, ...], keywords: dict[str, Value]
    ) -> dict[int | str, Value]:
        """The containers among the arguments that a call has changed, by place or keyword."""
        return self._changed.get(self._key(function, owner, args, keywords), {}) if self._changed else {}

    def _run_body(self, call: Call) -> Environment | None:
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
            self._remember(env)
            if call.owner is not None and call.owner.cls and call.function.name == "forward":
                self._ran.add(call.owner.cls)
        return env

    def _remember(self, env: Environment) -> None:
        belief = self.beliefs[env.module.path]
        if env.function.name != "<lambda>":
            belief.reached.setdefault(env.function)
        found = env.beliefs()
        for span, value in found.items():
            # Of several contexts the one counts in which it is data: there export fails, whatever the others do.
            old = belief.values.get(span)
            if old is None or old.kind is Kind.UNKNOWN or _says_more(value, old):
                belief.values[span] = value
        # Counted, since code is dead only where it was cut off in every context (`runs`).
        for span in env.unreached() - found.keys():
            belief.dead[span] = belief.dead.get(span, 0) + 1
        whole = span_of(env.function.node)
        if whole:
            belief.runs[whole] = belief.runs.get(whole, 0) + 1
            belief.called.update([] if self.operators else [whole])

    # Names, and code that runs before export does.

    @property
    def watching(self) -> bool:
        return self._watched is not None

    @property
    def silent(self) -> bool:
        return self._silent > 0

    @contextmanager
    def _silently(self) -> Iterator[None]:
        """Run code that export does not run: nothing of it is remembered."""
        self._silent += 1
        try:
            yield
        finally:
            self._silent -= 1

    def before_export(self, function: FunctionInfo, node: ast.expr) -> Value:
        """The value of an expression beside a function, such as a default, which runs before export does."""
        with self._silently():
            return FunctionRun(self, Environment(function, {})).value(node)

    def module_level(self, module: ModuleInfo, name: str) -> Value:
        """What a name means when the function does not bind it."""
        return self._known_of_project(Engine._module_level, (module, name), UNKNOWN)

    def _module_level(self, place: tuple[ModuleInfo, str]) -> Value:
        module, name = place
        if name in module.assignments:
            return self._module_assignment(module, name)
        dotted = module.origin(name)
        return self.dotted(dotted) if dotted else UNKNOWN

    def _module_assignment(self, module: ModuleInfo, name: str) -> Value:
        value = self.before_export(FunctionInfo.outside("<module>", module), module.assignments[name])
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

    def _known_of_project(self, work_out: Callable[[Engine, _Of], _Known], of: _Of, meanwhile: _Known) -> _Known:
        """What is so whoever asks: worked out once for all files, by an engine that stands at no call of any model."""
        return self.project.memo.of((work_out, of), lambda: work_out(Engine(self.project), of), meanwhile)

    # Classes, and what their objects have.

    def attributes(self, cls: ClassInfo) -> dict[str, Value]:
        """What `__init__` (and the class body) puts on the object."""
        none: dict[str, Value] = {}  # where a constructor reads its own attributes
        return self._known_of_project(Engine._attributes_of, cls, none)

    def _attributes_of(self, cls: ClassInfo) -> dict[str, Value]:
        found: dict[str, Value] = {}
        for base in reversed(cls.lineage):
            found.update(self.class_levels(base))
        for init in reversed(constructors(cls)):
            found.update(self._set_by_init(init, cls))
        return found

    def _set_by_init(self, init: FunctionInfo, cls: ClassInfo) -> dict[str, Value]:
        owner = exactly(Module(cls) if cls.is_module else Instance(cls))
        with self._silently():
            env = Environment(init, Call(init, owner, (), {}, root=True).names(self))
            for name, _ in defaults(init.node):
                # A constructor argument may be anything of its kind: its default decides no test.
                if (default := env.names[name]).kind is Kind.SCALAR:
                    env.names[name] = default.but(truth=None, name=None)
            FunctionRun(self, env).run(init.node.body)  # type: ignore[arg-type] # a def, whose body is a list
        return {name: read_before_export(value) for name, value in attributes_after_init(env.names).items()}

    def layers(self, cls: ClassInfo | None) -> frozenset[str]:
        """The attributes that hold a layer of torch.nn, which takes a tensor."""
        if cls is None or not cls.is_module:
            return frozenset()
        modules = ((n, v) for n, v in self.attributes(cls).items() if v.kind is Kind.MODULE and v.cls is None)
        return frozenset(n for n, v in modules if v.name not in library.MODULE_CONTAINERS)

    def class_levels(self, cls: ClassInfo) -> dict[str, Value]:
        """What the class body assigns, which is the same for all classes that inherit it."""
        none: dict[str, Value] = {}
        return self._known_of_project(Engine._class_body, cls, none)

    def _class_body(self, cls: ClassInfo) -> dict[str, Value]:
        return {name: self._class_level(cls, node) for name, node in class_assignments(cls)}

    def _class_level(self, cls: ClassInfo, node: ast.expr) -> Value:
        value = self.before_export(FunctionInfo.outside("<class>", cls.module, cls), node)
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
        env = self._run_body(Call(init, exactly(Instance(cls)), args, keywords))
        written = written_later(cls) if self._watched else None
        levels = class_constants(cls) if self._watched else {}
        fields = {**levels, **attributes_after_init(env.names, written, outlives=self.silent)} if env else {}
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
                env = self._run_body(Call(init, exactly(Module(cls)), args, keywords))
            found = attributes_after_init(env.names, written_later(cls)) if env else {}
            made.attributes.update({name: read_before_export(value) for name, value in found.items()})
        return self._constructions[key]

    def on_self(
        self, method: FunctionInfo, args: tuple[Value, ...], keywords: dict[str, Value], env: Environment
    ) -> Value | None:
        """Run a method of the object under construction: what it sets on self is set in `env`. None: it is not run."""
        sets = method.name == "__init__" or sets_attributes(method.node)
        if self._depth >= MAX_DEPTH or method.node in self._setting_up or not sets:
            return None
        names = Call(method, env.names.get("self"), args, keywords).names(self)
        inner = Environment(method, names | {n: v for n, v in env.names.items() if n.startswith("self.")})
        self._depth += 1
        self._setting_up.add(method.node)
        try:
            FunctionRun(self, inner).run(method.node.body)  # type: ignore[arg-type] # a def, whose body is a list
        finally:
            self._depth -= 1
            self._setting_up.discard(method.node)
        env.names.update({n: v for n, v in inner.names.items() if n.startswith("self.")})
        return _outcome(inner)


def _outcome(env: Environment) -> Value:
    """What a call gives, after the body has run."""
    if env.yielded:
        return exactly(Container("generator", join_all(env.yielded)))
    return join_all(env.returned) or NONE


def _says_more(value: Value, old: Value) -> bool:
    """Is it data here, and was it not, or not surely, in the contexts before?"""
    return (value.may_be_data and not old.may_be_data) or (value.is_data and not old.is_data)
