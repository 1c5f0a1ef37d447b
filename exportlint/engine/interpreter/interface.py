"""Declare what the run of one function asks of the engine: names, classes, and the runs of other functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import ast

    from exportlint.engine.entry.sample_code import SampleCode
    from exportlint.engine.entry.samples import Sample
    from exportlint.engine.interpreter.environment import Environment
    from exportlint.engine.source.symbols import ClassInfo, FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Value


class Interpreter(Protocol):
    """What the run of one function asks; `exportlint.engine.interpreter.engine.Engine` implements it.

    training   whether the model that runs now is in train mode, by what its sample calls
    operators  how many operators, such as `torch.cond`, run the function that runs now
    """

    training: bool
    operators: int

    @property
    def silent(self) -> bool:
        """Is the code that runs now no part of the exported program, such as a constructor?"""

    @property
    def watching(self) -> bool:
        """Is code followed that makes a sample?"""

    def module_level(self, module: ModuleInfo, name: str) -> Value:
        """What a name means when the function does not bind it."""

    def dotted(self, name: str) -> Value:
        """The value of an imported or builtin name."""

    def attributes(self, cls: ClassInfo) -> dict[str, Value]:
        """What `__init__` (and the class body) puts on the object."""

    def class_levels(self, cls: ClassInfo) -> dict[str, Value]:
        """What a class body assigns."""

    def layers(self, cls: ClassInfo | None) -> frozenset[str]:
        """The attributes that hold a layer of torch.nn, which takes a tensor."""

    def instance(self, cls: ClassInfo, args: tuple[Value, ...], keywords: dict[str, Value]) -> Value:
        """What `Cls(…)` makes, with the attributes that these arguments give it."""

    def changed(
        self, function: FunctionInfo, owner: Value | None, args: tuple[Value, ...], keywords: dict[str, Value]
    ) -> dict[int | str, Value]:
        """The containers among the arguments that a call has changed, by place or keyword."""

    def on_self(
        self, method: FunctionInfo, args: tuple[Value, ...], keywords: dict[str, Value], env: Environment
    ) -> Value | None:
        """Run a method of the object under construction; what it sets on self is set in `env`."""

    def watch(self, function: Value, args: tuple[Value, ...], keywords: dict[str, Value], env: Environment) -> None:
        """Note a call that gives a model inputs, where samples are looked for."""

    def before_export(self, function: FunctionInfo, node: ast.expr) -> Value:
        """The value of an expression beside a function, such as a default, which runs before export does."""

    def followed(self, code: SampleCode) -> tuple[dict[str, Value], list[Sample]]:
        """Run code that is no part of a model: the names that it leaves, and the samples that it calls models with."""

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
