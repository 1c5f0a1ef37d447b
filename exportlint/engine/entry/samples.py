"""Make samples of what code gives a model: the sample shows what the parameters of forward are."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from exportlint.engine.entry.declared_dims import given_dims
from exportlint.engine.values.abstract_value import (
    UNKNOWN,
    Container,
    Instance,
    Module,
    NoneObject,
    NumberFromData,
    Scalar,
    Shape,
    Size,
    Tensor,
    Value,
    exactly,
)
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo


# Calls that take a model and its inputs.
TAKERS = frozenset(
    f"torch.{name}"
    for name in ("export.export", "export.draft_export", "onnx.export", "jit.trace", "export.export_for_training")
)


@dataclass(frozen=True, slots=True)
class Sample:
    """A model with the inputs that it is given.

    exported   it is what is exported; else one call of the model among others, which shows what may arrive
    """

    model: Value
    args: tuple[Value, ...]
    keywords: dict[str, Value] = field(default_factory=dict)
    exported: bool = True
    dynamic_shapes: Value | None = None

    def given(self, parameters: Sequence[str]) -> tuple[tuple[Value, ...], dict[str, Value]]:
        """The inputs as forward meets them: those by place, and those by name. What is exported has their sizes."""
        spec = self.dynamic_shapes if self.exported else UNKNOWN
        names = (*parameters, *("" for _ in self.args))
        by_place = tuple(as_input(value, _spec_of(spec, i, names[i]), names[i]) for i, value in enumerate(self.args))
        by_name = {name: as_input(value, _spec_of(spec, None, name), name) for name, value in self.keywords.items()}
        return by_place, by_name

    @property
    def declares_dims(self) -> bool:
        return self.exported and self.dynamic_shapes is not None and self.dynamic_shapes.kind is not Kind.NONE

    def is_of(self, module: ModuleInfo) -> bool:
        """Does the class of the model, or of a layer of a torch.nn.Sequential, stand in the file?"""
        return any(_stands_in(option, module) for option in self.model.options)


def _stands_in(option: object, module: ModuleInfo) -> bool:
    if not isinstance(option, Module):
        return False
    inner = (part for item in option.items or () for part in item.options)
    return (option.cls is not None and option.cls.module is module) or any(_stands_in(part, module) for part in inner)


def named_sample(names: dict[str, Value]) -> Iterator[Sample]:
    """`model` and `example_args` at the top level of a file, as targets in the style of ExportDB have them."""
    model, args, keywords = (names.get(name) for name in ("model", "example_args", "example_kwargs"))
    if model is not None and args is not None:
        yield from _sample(model, args, keywords, names.get("dynamic_shapes"))


def sample_of_call(function: Value, args: tuple[Value, ...], keywords: dict[str, Value]) -> Iterator[Sample]:
    """What a call shows: one of torch.export names a model and its inputs, one of a model is given inputs."""
    if function.name not in TAKERS:
        called = any(isinstance(option, Module) and option.cls for option in function.options)
        if called and any(as_input(value, None, "") != UNKNOWN for value in (*args, *keywords.values())):
            yield Sample(function, args, keywords, exported=False)
        return
    model, given = (*args, None, None)[:2]
    model = model or keywords.get("mod") or keywords.get("model")
    given = given or keywords.get("args")
    if model and given:
        by_name = args[2] if len(args) > 2 and function.name != "torch.onnx.export" else keywords.get("kwargs")  # noqa: PLR2004 - the third
        yield from _sample(model, given, by_name, keywords.get("dynamic_shapes"))


def _sample(model: Value, given: Value, keywords: Value | None, shapes: Value | None) -> Iterator[Sample]:
    """Nothing where the inputs are unknown, or some that no forward of the model takes."""
    by_name = dict(keywords.fields) if keywords else {}
    if given.items is not None:
        args = given.items
    elif given.is_tensor:
        args = (given,)
    elif given.container == "dict" and given.fields:
        args, by_name = (), dict(given.fields) | by_name
    else:
        return
    forwards = [o.cls.method("forward") for o in model.options if isinstance(o, Module) and o.cls]
    if all(forward is None or _takes(forward, args, by_name) for forward in forwards):
        yield Sample(model, args, by_name, dynamic_shapes=shapes)


def _takes(forward: FunctionInfo, args: tuple[Value, ...], keywords: dict[str, Value]) -> bool:
    spec = forward.node.args
    positional = [parameter.arg for parameter in (*spec.posonlyargs, *spec.args)][1:]
    known = {*positional, *(parameter.arg for parameter in spec.kwonlyargs)}
    return bool((len(args) <= len(positional) or spec.vararg) and (keywords.keys() <= known or spec.kwarg))


def as_input(value: Value, spec: Value | None, name: str) -> Value:
    """A value of the sample as forward meets it: any tensor; a number, text or None is a constant of the export.

    `spec`: what `dynamic_shapes` says of it; `name`: the parameter.
    """
    match value.lead:
        case Tensor(boolean=boolean, dims=dims) if value.certain:
            return exactly(Tensor(Source.INPUT, boolean, dims=given_dims(dims, spec, name)))
        case Scalar() | NoneObject() as constant if value.certain:
            return exactly(constant)
        case Size() | NumberFromData() if value.certain:
            return exactly(Scalar())  # read outside of the model, it is a plain number
        case Shape() if value.certain:
            return exactly(Container("tuple", exactly(Scalar("int")), source=Source.INPUT))
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
