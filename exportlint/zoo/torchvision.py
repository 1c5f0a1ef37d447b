"""`torchvision:resnet18`: a model of torchvision, for pictures, video, detection or optical flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torchvision.models

from exportlint.zoo.running import Built, ModelInputs, call, first_that_runs, within

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BATCH, _SMALL = 2, 64
# 1 GB with the library, for few take arguments that make them smaller; it counts what SSD makes and throws away too.
_MOST_PARAMETERS, _MOST_MODULES = 180_000_000, 3_000
# What makes it quick to build and run, for the models that know it; the first set that a model takes is used.
_WITH_BACKBONE: tuple[dict[str, Any], ...] = (
    {"weights_backbone": None, "min_size": _SMALL, "max_size": _SMALL},  # detection enlarges its pictures
    {"weights_backbone": None},  # weights that would be loaded
)
_OTHERS: tuple[dict[str, Any], ...] = (
    {"image_size": 112},  # whole patches of 14 and of 16
    {"init_weights": False},  # truncated normal numbers, of scipy, take a minute
    {},
)


def names() -> list[str]:
    return list(torchvision.models.list_models())


def family(name: str) -> str:
    """detection, segmentation, video, optical_flow or quantization; of what classifies, the module of its class."""
    return str(torchvision.models.get_model_builder(name).__module__).split(".")[2]


def build(name: str, options: Mapping[str, Any]) -> Built:
    """`options` are those of torchvision.models.get_model."""
    if name not in names():
        raise LookupError(name)

    def chosen(more: dict[str, Any]) -> dict[str, Any]:
        return {"weights": None, **more, **options}

    def make(more: dict[str, Any]) -> Any:
        return within(_MOST_PARAMETERS, _MOST_MODULES, lambda: torchvision.models.get_model(name, **chosen(more)))

    arguments = _WITH_BACKBONE if family(name) in {"detection", "segmentation"} else _OTHERS

    def inputs(_model: Any) -> Iterator[ModelInputs]:
        return _inputs(family(name))

    variant, model, args, kwargs = first_that_runs(arguments, make, inputs)
    code = f"{call('torchvision.models.get_model', chosen(variant), name)}.eval()"
    return model, args, kwargs, ("import torchvision", code)


def _inputs(kind: str) -> Iterator[ModelInputs]:
    for size in (_SMALL, 128, 224, 299):
        match kind:
            case "detection":
                yield ([torch.rand(3, size, size)],), {}
            case "optical_flow":
                yield (torch.rand(_BATCH, 3, size, size), torch.rand(_BATCH, 3, size, size)), {}
            case "video":
                yield (torch.rand(1, 3, 16, size, size),), {}
            case _:
                yield (torch.rand(_BATCH, 3, size, size),), {}
