"""`timm:resnet18`: a model of PyTorch Image Models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import timm
import torch

from exportlint.zoo.running import Built, call, first_that_runs

if TYPE_CHECKING:
    from collections.abc import Mapping

_BATCH, _SMALL = 2, 64


def names() -> list[str]:
    return list(timm.list_models())


def build(name: str, options: Mapping[str, Any]) -> Built:
    """`options` are those of timm.create_model."""
    if not timm.is_model(name):
        raise LookupError(name)

    def chosen(size: dict[str, int]) -> dict[str, Any]:
        return {"pretrained": False, **size, **options}

    def make(size: dict[str, int]) -> Any:
        return timm.create_model(name, **chosen(size))

    def inputs(model: Any) -> Any:
        channels, *native = model.pretrained_cfg.get("input_size", (3, 224, 224))
        for size in ([_SMALL, _SMALL], native):
            yield (torch.randn(_BATCH, options.get("in_chans", channels), *size),), {}

    # Transformers are built for one size of picture, convolutions take any and know no `img_size`.
    way, model, args, kwargs = first_that_runs([{"img_size": _SMALL}, {}], make, inputs)
    return model, args, kwargs, ("import timm", f"{call('timm.create_model', chosen(way), name)}.eval()")
