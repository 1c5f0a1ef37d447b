"""What the engine believes of an expression, in words: for who points at it, and for reports beside the source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import (
    Class,
    ConfigObject,
    Container,
    Function,
    Instance,
    Kind,
    Module,
    Scalar,
    Shape,
    Size,
    Source,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from exportlint.engine.values.abstract_value import Possibility, Step
    from exportlint.engine.values.extents import Dims, Extent

_PLAIN = {
    Kind.UNBACKED: "number that is read out of the data of a tensor",
    Kind.NONE: "None",
    Kind.ARRAY: "NumPy array",
    Kind.UNKNOWN: "something else",
}
_MOST = 4  # things that it may be; more than that tell nobody anything


def in_words(value: Value, here: Path | None = None, *, name: str = "", steps: int | None = None) -> str:
    """In a line; empty where nothing is known.

    here    the file that it stands in, which need not be named
    name    of the expression, which no step has to repeat
    steps   how many of the places that it comes from are told; None: all

    >>> from exportlint.engine.values.abstract_value import exactly
    >>> in_words(exactly(Tensor(Source.INPUT, boolean=True)).or_none().because("`mask` of forward", 12))
    'boolean tensor, an input, or None; from `mask` of forward, line 12'
    """
    if all(option.kind is Kind.UNKNOWN for option in value.options):
        return ""
    said = list(dict.fromkeys(map(_said, value.options)))
    what = ", or ".join(said[:_MOST]) + (" …" if len(said) > _MOST else "")
    return "; ".join([what, *(f"from {_place(step, here, name)}" for step in value.trail[:steps])])


def _place(step: Step, here: Path | None, name: str) -> str:
    line = f"line {step.line}" + (f" of {step.path.name}" if step.path and step.path != here else "")
    return line if step.text == f"`{name}`" else f"{step.text}, {line}"


def _said(option: Possibility) -> str:
    match option:
        case Tensor():
            return ", ".join(_tensor(option))
        case Container(container=name, items=items):
            count = "" if items is None else f" of {len(items)}"
            return f"{name or 'container'}{count}" + (", as many as data says" if option.unbacked else "")
        case Shape(dims=dims):
            return "shape" + (f" {_sizes(dims)}" if dims is not None else "")
        case Size(extent=extent):
            return "size" + (f" {_size(extent)}" if extent is not None else " of an input or a tensor")
        case Scalar(container=name, name=text):
            return f"Python {name or 'value'}" + (f" {text}" if text else "") + _truth(option)
        case Module():
            return f"module {_name(option)}".rstrip()
        case Instance():
            return f"object {_name(option)}".rstrip()
        case Class():
            return f"class {_name(option)}".rstrip()
        case Function(function=function, name=name):
            return f"function {function.name if function else name or ''}".rstrip()
        case ConfigObject(name=name):
            return f"configuration {name or ''}".rstrip()
    return _PLAIN[option.kind]


def _tensor(tensor: Tensor) -> Iterator[str]:
    yield "boolean tensor" if tensor.boolean else "tensor"
    if tensor.dims is not None:
        sizes = f" {_sizes(tensor.dims)}" if tensor.dims else ""
        yield f"{len(tensor.dims)} dim{'s' * (len(tensor.dims) != 1)}{sizes}"
    if tensor.data_dim is not None:
        yield f"data says how large its dim {tensor.data_dim} is"
    if tensor.source is not Source.COMPUTED:
        article = "an" if tensor.source is Source.INPUT else "a"
        yield f"{article} {tensor.source.value}"


def _sizes(dims: Dims) -> str:
    return f"({', '.join(_size(one) if one is not None else '?' for one in dims)})"


def _size(extent: Extent) -> str:
    """The number that it is, or the declared dims that it depends on."""
    if extent.number is not None:
        return str(extent.number)
    names = ", ".join(sorted(dim.name for dim in extent.dims))
    if extent.plain:
        return names
    return f"{extent.low} to {extent.high}" + (f" by {names}" if names else "")


def _truth(scalar: Scalar) -> str:
    """What is known of the value by whether Python takes it for true, where it is not known itself."""
    if scalar.truth is None or scalar.name:
        return ""
    match scalar.container:
        case "int" | "float" | "complex":
            return " other than 0" if scalar.truth else " 0"
        case "str" | "bytes":
            return ", not empty" if scalar.truth else ", empty"
    return f" that is {'true' if scalar.truth else 'false'}"


def _name(option: Module | Instance | Class) -> str:
    return option.cls.name if option.cls is not None else option.name or ""
