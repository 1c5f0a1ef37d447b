"""What dims a layer of torch gives, and what it demands of the dims of its input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import Module, exactly
from exportlint.engine.values.dims.extents import divided, number, plus
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
    if name in {"Conv1d", "Conv2d", "Conv3d"} and takes is not None:
        return _convolved(module, dims, int(name[-2]))
    return Effect()


def _convolved(module: Module, dims: Dims, count: int) -> Effect:
    """Channels stand before the places, as many as `count`; a batch dim may stand before them."""
    at = len(dims) - count - 1
    if at not in {0, 1}:
        return Effect()
    places = [_of_place(module, extent, i) for i, extent in enumerate(dims[at + 1 :])]
    return Effect((*dims[:at], _field(module, "gives"), *places), equal_sides(dims[at], _field(module, "takes")))


def _of_place(module: Module, extent: Extent | None, i: int) -> Extent | None:
    """How many places a convolution gives, by the formula of `torch.nn.Conv2d`'s documentation."""
    kernel, stride = _setting(module, "kernel_size", i, None), _setting(module, "stride", i, 1)
    padding, dilation = _setting(module, "padding", i, 0), _setting(module, "dilation", i, 1)
    if extent is None or kernel is None or stride is None or padding is None or dilation is None:
        return None
    steps = divided(plus(extent, number(2 * padding - dilation * (kernel - 1) - 1)), number(stride))
    return plus(steps, number(1)) if steps is not None else None


def _setting(module: Module, name: str, i: int, default: int | None) -> int | None:
    """A setting for one place: a number, or one of a tuple; None where it is not known."""
    value = exactly(module).field(name)
    if value is None:
        return default
    found = extent_of(value.items[i] if value.items is not None and i < len(value.items) else value)
    return found.number if found is not None else None


def _field(module: Module, name: str) -> Extent | None:
    value = exactly(module).field(name)
    return extent_of(value) if value is not None else None
