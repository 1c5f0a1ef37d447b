"""The engine: runs every forward in the abstract, follows calls, and remembers what each expression was.

A function is run once for every kind of arguments it gets. What it learns is kept by position, so that a rule that
reads another syntax tree of the same file can ask.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from typing import TYPE_CHECKING

from exportlint.engine.entry.definitions import (
    nothing,
)
from exportlint.engine.entry.export_roots import decorators, forwards, handed_to_export
from exportlint.engine.entry.registries import with_registered
from exportlint.engine.entry.samples import Sample, sample_of_call
from exportlint.engine.interpreter.arguments import Call
from exportlint.engine.interpreter.class_values import MAX_DEPTH, ClassValues, outcome
from exportlint.engine.interpreter.environment import Environment
from exportlint.engine.interpreter.function_run import FunctionRun
from exportlint.engine.interpreter.sample_run import judge, samples_of
from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
from exportlint.engine.values import library
from exportlint.engine.values.abstract_value import (
    NONE,
    TENSOR,
    UNKNOWN,
    Class,
    Function,
    Module,
    Unknown,
    Value,
    exactly,
)
from exportlint.engine.values.beliefs import Belief, span_of
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.entry.sample_code import SampleCode
    from exportlint.engine.source.project import Project


MAX_CONTEXTS = 6
_CONTEXTS_WITH_DIMS = 3  # after so many kinds of arguments a function is run for any sizes
_MADE_OPERATORS = frozenset({"torch.library.custom_op", "torch.library.triton_op", "torch.library.impl"})


class Engine(ClassValues):
    """All that is known about a project's values. `run(module)` judges every class of the file as an export root."""

    def __init__(self, project: Project) -> None:
        super().__init__()
        self.project = project
        self.beliefs: dict[Path, Belief] = defaultdict(Belief)
        self._results: dict[tuple[object, ...], Value] = {}
        self._changed: dict[tuple[object, ...], dict[int | str, Value]] = {}
        self._contexts: dict[FunctionInfo | ast.AST, int] = defaultdict(int)
        self._levels: dict[tuple[ModuleInfo, str], Value] = {}
        self._samples: list[Sample] = []
        self._ran: set[ClassInfo] = set()  # classes whose forwards were judged
        self.training = False  # export wants eval mode; train mode has its own rule
        self.operators = 0

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
        declares = any(sample.declares_dims for sample in samples)
        for belief in self.beliefs.values():
            belief.declares_dims = declares

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
            self._results[key] = outcome(env) if env else UNKNOWN
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
        found = env.beliefs()
        for span, value in found.items():
            old = belief.values.get(span)
            if old is None or old.kind is Kind.UNKNOWN or _says_more(value, old):
                belief.values[span] = value
        for span in env.unreached() - found.keys():
            belief.dead[span] = belief.dead.get(span, 0) + 1
        whole = span_of(env.function.node)
        if whole:
            belief.runs[whole] = belief.runs.get(whole, 0) + 1
            belief.called.update([] if self.operators else [whole])


def _says_more(value: Value, old: Value) -> bool:
    """Is it data here, and was it not, or not surely, in the contexts before?"""
    return (value.may_be_data and not old.may_be_data) or (value.is_data and not old.is_data)
