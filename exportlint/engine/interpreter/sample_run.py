"""Run what makes the samples of a file, and their models on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.engine.entry.definitions import nothing
from exportlint.engine.entry.export_roots import forwards
from exportlint.engine.entry.sample_code import declared, scripts
from exportlint.engine.entry.samples import named_sample
from exportlint.engine.interpreter.environment import Environment
from exportlint.engine.interpreter.function_run import FunctionRun
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.engine.values.abstract_value import Module, Scalar, exactly

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from exportlint.engine.entry.declared_target import DeclaredTarget
    from exportlint.engine.entry.samples import Sample
    from exportlint.engine.interpreter.interface import Interpreter
    from exportlint.engine.source.symbols import ClassInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Value


def samples_of(engine: Interpreter, module: ModuleInfo, targets: Sequence[DeclaredTarget]) -> list[Sample]:
    """Those that the file gives, and the targets whose model's class stands in it."""
    found: list[Sample] = []
    for code in scripts(module):
        names, calls = engine.followed(code)
        found += calls if any(call.exported for call in calls) else [*calls, *named_sample(names)]
    return found + [sample for sample in _declared(engine, module, targets) if sample.is_of(module)]


def _declared(engine: Interpreter, module: ModuleInfo, targets: Sequence[DeclaredTarget]) -> Iterator[Sample]:
    for target in targets if any(forwards(module)) else ():
        names: dict[str, Value] = {}
        for code in declared(target, module.project):
            names |= engine.followed(code)[0]
        yield from named_sample(names)


def judge(engine: Interpreter, module: ModuleInfo, sample: Sample, known: Collection[ClassInfo] = ()) -> None:
    """Run the forward of a sample's model, unless its class is known."""
    for option in sample.model.options:
        if not isinstance(option, Module) or option.cls in known:
            continue
        forward = option.cls.method("forward") if option.cls else None
        given, keywords = sample.given(forward.parameters[1:] if forward else ())
        engine.training = ("training", exactly(Scalar("bool", truth=True))) in option.fields
        if forward:
            engine.invoke(forward, exactly(option), given, keywords, root=True)
        elif not option.cls:
            env = Environment(FunctionInfo("<sample>", nothing(), module), {})
            FunctionRun(engine, env).apply(exactly(option), given)
        engine.training = False
