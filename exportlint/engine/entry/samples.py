"""Find the models that a file itself gives example inputs to: the sample shows what the parameters of forward are."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.entry.annotations import INPUT
from exportlint.engine.source.parsed import walked
from exportlint.engine.values.abstract_value import SCALAR, UNKNOWN, Kind, Source, Value

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.engine.source.symbols import ModuleInfo


# Calls that take a model and a tuple of its inputs.
_TAKERS = frozenset(
    f"torch.{name}"
    for name in ("export.export", "export.draft_export", "onnx.export", "jit.trace", "export.export_for_training")
)


def samples(module: ModuleInfo) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Expressions of a model and of its inputs, which names of the file's top level explain."""
    names = module.assignments
    if "model" in names and "example_args" in names:
        yield names["model"], names["example_args"]
    mentioned = (f"{taker.rpartition('.')[2]}(" for taker in _TAKERS)
    for node in walked(module.tree) if module.parsed.mentions(mentioned) else ():
        match node:
            case ast.Call(func=func, args=[model, args, *_]) if module.dotted(func) in _TAKERS:
                yield model, args


def as_input(value: Value) -> Value:
    """A value of the sample as forward meets it: any tensor, any number, of the same kind."""
    match value.kind:
        case Kind.TENSOR:
            return replace(INPUT, boolean=value.boolean) if value.certain else UNKNOWN
        case Kind.SCALAR:
            return replace(SCALAR, container=value.container)
        case Kind.CONTAINER:
            items = tuple(map(as_input, value.items)) if value.items is not None else None
            element = as_input(value.element) if value.element else None
            fields = tuple((name, as_input(field)) for name, field in value.fields)
            return replace(value, source=Source.INPUT, items=items, element=element, fields=fields, trail=())
    return UNKNOWN
