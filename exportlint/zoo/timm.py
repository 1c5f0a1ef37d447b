"""`timm:resnet18`: a model of PyTorch Image Models.

What is large is made with fewer blocks, and narrower where that is not enough, by the names of the arguments that its
class takes; the kinds of blocks stay what they are.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import inspect
import math
import re
from typing import TYPE_CHECKING, Any
from unittest import mock

import timm
import torch
from timm.models import _registry

from exportlint.zoo.running import Built, ModelInputs, call, first_that_runs, within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BATCH, _SMALL_PICTURE, _LARGE_PICTURE = 2, 64, 512
_BLOCKS, _DIVISORS = 2, (2, 4, 8, 16)
# Most parameters and modules: what is exported in seconds; then deeper; then what still fits into 1 GB.
_LIMITS = (30_000_000, 700), (30_000_000, 3_000), (145_000_000, 3_000)


def names() -> list[str]:
    return list(timm.list_models())


def family(name: str) -> str:
    """The module that defines it."""
    return str(_registry._model_to_module[name])  # noqa: SLF001 - public functions know only whether it is in a module


def build(name: str, options: Mapping[str, Any]) -> Built:
    """`options` are those of timm.create_model."""
    if not timm.is_model(name):
        raise LookupError(name)
    architecture = _architecture(name)
    # Transformers are built for one size of picture, convolutions take any.
    sizes: list[dict[str, Any]] = [{"img_size": _SMALL_PICTURE}, {}] if "img_size" in architecture else [{}]
    variants = [
        (limits, {**size, **smaller}) for limits in _LIMITS for size in sizes for smaller in _smaller(architecture)
    ]

    def chosen(changes: dict[str, Any]) -> dict[str, Any]:
        return {"pretrained": False, **changes, **options}

    def make(way: tuple[tuple[int, int], dict[str, Any]]) -> Any:
        limits, changes = way
        return within(*limits, lambda: timm.create_model(name, **chosen(changes)))

    def inputs(model: Any) -> Iterator[ModelInputs]:
        channels, *native = model.pretrained_cfg.get("input_size", (3, 224, 224))
        # Patches of 16, and of 14, are pooled by 3 in some.
        for size in ([_SMALL_PICTURE] * 2, [96, 96], [84, 84], [128, 128], native):
            if max(size) <= _LARGE_PICTURE:
                yield (torch.randn(_BATCH, options.get("in_chans", channels), *size),), {}

    try:
        (_, way), model, args, kwargs = first_that_runs(variants, make, inputs)
    except RuntimeError as error:
        with torch.device("meta"):
            parameters = sum(parameter.numel() for parameter in timm.create_model(name, **chosen({})).parameters())
        raise RuntimeError(f"{error}; as it is, it has {parameters:,} parameters") from error
    return model, args, kwargs, ("import timm", f"{call('timm.create_model', chosen(way), name)}.eval()")


class _Stop(Exception):  # noqa: N818 - it ends a call, nothing is wrong
    pass


def _architecture(name: str) -> dict[str, Any]:
    """The arguments of its class, and the fields of its configuration, which are given by the same names."""
    module = importlib.import_module(f"timm.models.{family(name)}")
    with mock.patch.object(module, "build_model_with_cfg", side_effect=_Stop) as builder, contextlib.suppress(_Stop):
        timm.create_model(name)
    if builder.call_args is None:
        return {}
    (model_class, *_), given = builder.call_args
    parameters = inspect.signature(model_class).parameters
    known = {name: given.get(name, parameter.default) for name, parameter in parameters.items()}
    for cfg in (given.get("model_cfg"), given.get("cfg")):
        if dataclasses.is_dataclass(cfg):
            known |= {field.name: getattr(cfg, field.name) for field in dataclasses.fields(cfg)}
    return known


_DEPTH = re.compile(r"(?:.*_)?depths?|depth_list|layers|stages|num_blocks(?:_list)?|block_config|k_sec")
_WIDTH = re.compile(
    r"(?:embed_|base_|stem_hidden_|inner_|partial_)?dims?|channels|widths?|width_list|stem_(?:chs|width)|w0|wa"
    r"|intermediate_size|growth_rates?|num_init_features|head_widths|num_features|group_size"
    r"|(?:num_)?(?:kv_)?heads|num_heads_(?:inner|outer)|attn_pool_num_heads"
)
_FACTOR = re.compile(r"width_factor|group_size")  # of all widths
_PLACES = re.compile(r"global_att\w*_(?:indexes|blocks)")  # where in the depth another kind of block stands


def _smaller(architecture: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What to change: nothing, the depth, the width too, the width alone."""
    yield {}
    shallow = dict(_shallow(architecture))
    yield shallow
    heads = architecture.get("num_heads")
    shared = math.gcd(*heads) if isinstance(heads, (list, tuple)) and all(isinstance(n, int) for n in heads) else 1
    for kept in (shallow, {}):
        for divisor in dict.fromkeys((*_DIVISORS, shared)):
            yield {**kept, **dict(_narrow({**architecture, **kept}, divisor))}


def _shallow(architecture: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    depth = architecture.get("depth")
    for name, value in architecture.items():
        if _DEPTH.fullmatch(name):
            smaller = _each(value, lambda blocks: min(blocks, _BLOCKS))
        elif _PLACES.fullmatch(name) and value:
            blocks = architecture.get("stages", [depth])
            smaller = type(value)([sum(_each(blocks, lambda blocks: min(blocks, _BLOCKS))) - 1])
        elif isinstance(depth, int) and isinstance(value, (list, tuple)) and len(value) == depth > _BLOCKS:
            smaller = value[:_BLOCKS]  # one entry for each block
        else:
            continue
        if smaller != value:
            yield name, smaller


def _narrow(architecture: Mapping[str, Any], divisor: int) -> Iterator[tuple[str, Any]]:
    """Everything by the same number, so that what fits together still does."""
    widths = _FACTOR if "width_factor" in architecture else _WIDTH
    for name, value in architecture.items():
        if widths.fullmatch(name):
            smaller = _each(value, lambda width: _divided(width, divisor))
            if smaller != value:
                yield name, smaller


def _divided(width: float, divisor: int) -> float:
    return max(width // divisor, min(width, 1)) if isinstance(width, int) else width / divisor


def _each(value: Any, change: Any) -> Any:
    match value:
        case bool():
            return value
        case int() | float():
            return change(value)
        case list() | tuple():
            return type(value)(_each(item, change) for item in value)
    return value
