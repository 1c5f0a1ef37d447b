"""Find the models that a file itself gives example inputs to: the sample shows what the parameters of forward are."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from exportlint.engine.entry.declared_dims import given_dims
from exportlint.engine.entry.definitions import nothing
from exportlint.engine.source.parsed import walked
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.engine.values.abstract_value import (
    UNKNOWN,
    Container,
    Instance,
    NoneObject,
    Scalar,
    Tensor,
    Value,
    exactly,
)
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.source.symbols import ModuleInfo


# Calls that take a model and a tuple of its inputs.
TAKERS = frozenset(
    f"torch.{name}"
    for name in ("export.export", "export.draft_export", "onnx.export", "jit.trace", "export.export_for_training")
)
_MENTIONED = tuple(f"{taker.rpartition('.')[2]}(" for taker in TAKERS)


@dataclass(frozen=True, slots=True)
class Sample:
    """A model with the inputs that a file gives it."""

    model: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value] = field(default_factory=dict)
    dynamic_shapes: Value | None = None

    def given(self, parameters: Sequence[str]) -> tuple[tuple[Value, ...], dict[str, Value]]:
        """The inputs as forward meets them: positional ones, and those by name."""
        spec = self.dynamic_shapes
        by_place = tuple(
            as_input(value, _spec_of(spec, i, name), name)
            for i, (value, name) in enumerate(zip_longest(self.args, parameters[: len(self.args)], fillvalue=""))
            if isinstance(value, Value)
        )
        by_name = {name: as_input(value, _spec_of(spec, None, name), name) for name, value in self.keywords.items()}
        return by_place, by_name


@dataclass(frozen=True, slots=True)
class SampleCode:
    """Statements that make samples: of the top level, or of a function that exports."""

    function: FunctionInfo
    statements: list[ast.stmt]


def scripts(module: ModuleInfo) -> Iterator[SampleCode]:
    """What of a file is to be followed for its samples; nothing where it gives none."""
    exports = module.parsed.mentions(_MENTIONED)
    names = module.assignments
    if exports or ("model" in names and "example_args" in names):
        yield SampleCode(FunctionInfo("<module>", nothing(), module), list(_top_level(module.tree.body)))
    for function in module.functions.values() if exports else ():
        if any(isinstance(n, ast.Call) and module.dotted(n.func) in TAKERS for n in walked(function.node)):
            yield SampleCode(function, function.node.body)  # type: ignore[arg-type] # a def, whose body is a list


def _top_level(statements: list[ast.stmt]) -> Iterator[ast.stmt]:
    for node in statements:
        if isinstance(node, ast.If) and "__main__" in ast.unparse(node.test):
            yield from node.body
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr | ast.With | ast.For):
            yield node


def named_sample(names: dict[str, Value]) -> Iterator[Sample]:
    """`model` and `example_args` at the top level of a file, as targets in the style of ExportDB have them."""
    model, args, keywords = (names.get(name) for name in ("model", "example_args", "example_kwargs"))
    if model is not None and args is not None and args.items is not None:
        yield Sample(model, args.items, dict(keywords.fields) if keywords else {}, names.get("dynamic_shapes"))


def as_input(value: Value, spec: Value | None, name: str) -> Value:
    """A value of the sample as forward meets it: any tensor; a number, text or None is a constant of the export.

    `spec`: what `dynamic_shapes` says of it; `name`: the parameter.
    """
    match value.lead:
        case Tensor(boolean=boolean, dims=dims) if value.certain:
            return exactly(Tensor(Source.INPUT, boolean, dims=given_dims(dims, spec, name)))
        case Scalar() | NoneObject() as constant if value.certain:
            return exactly(constant)
        case Instance() as given if value.certain:
            return exactly(replace(given, source=Source.INPUT))
        case Container() as given:
            items = given.items
            if items is not None:
                items = tuple(as_input(item, _spec_of(spec, i, str(i)), f"{name}[{i}]") for i, item in enumerate(items))
            element = as_input(given.element, None, name).but(dims=None) if given.element else None
            fields = tuple((key, as_input(field, _spec_of(spec, None, key), key)) for key, field in given.fields)
            return exactly(replace(given, source=Source.INPUT, items=items, element=element, fields=fields))
    return UNKNOWN


def _spec_of(spec: Value | None, place: int | None, name: str) -> Value | None:
    """The part of a `dynamic_shapes` that speaks of one input; UNKNOWN where it is not understood."""
    if spec is None or spec.kind is Kind.NONE:
        return None
    if (found := spec.field(name)) is not None:
        return found
    if spec.items is not None and place is not None:
        return spec.items[place] if place < len(spec.items) else UNKNOWN
    return None if spec.container == "dict" and spec.fields else UNKNOWN
