"""What dims a layer of torch gives, and what it demands of the dims of its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import Module, exactly
from exportlint.engine.values.dims.needs import Effect, dims_of, equal_sides, extent_of

if TYPE_CHECKING:
    from exportlint.engine.values.abstract_value import Value
    from exportlint.engine.values.dims.extents import Extent
    from exportlint.engine.values.dims.needs import Dims


_KEEPING_LAYERS = frozenset(
    str.split(
        "LayerNorm RMSNorm BatchNorm1d BatchNorm2d BatchNorm3d Dropout ReLU ReLU6 GELU SiLU Mish Tanh Sigmoid Softmax "
        "LogSoftmax Softplus LeakyReLU ELU Hardtanh Hardsigmoid Hardswish Identity"
    )
)


def layer_effect(module: Value, args: tuple[Value, ...]) -> Effect:
    """Of calling a layer of torch."""
    dims = dims_of(args[0]) if args else None
    match module.options:
        case (Module(cls=None) as known,) if dims:
            return _of_layer(known, dims)
    return Effect()


def _of_layer(module: Module, dims: Dims) -> Effect:
    name = (module.name or "").rpartition(".")[2]
    takes, gives = (_field(module, part) for part in ("takes", "gives"))
    if name == "Embedding":
        return Effect((*dims, gives))
    if name in _KEEPING_LAYERS:
        place = 1 if name.startswith("BatchNorm") else -1
        return Effect(dims, equal_sides(dims[place], takes) if takes is not None and len(dims) > 1 else ())
    if name == "Linear":
        return Effect((*dims[:-1], gives), equal_sides(dims[-1], takes) if takes is not None else ())
    if name.startswith("Conv") and takes is not None:
        return _convolved(dims, int(name[-2]), takes, gives)
    return Effect()


def _convolved(dims: Dims, places: int, takes: Extent, gives: Extent | None) -> Effect:
    """Channels stand before the places; a batch dim may stand before them."""
    at = len(dims) - places - 1
    if at not in {0, 1}:
        return Effect()
    return Effect((*dims[:at], gives, *(None for _ in range(places))), equal_sides(dims[at], takes))


def _field(module: Module, name: str) -> Extent | None:
    value = exactly(module).field(name)
    return extent_of(value) if value is not None else None
