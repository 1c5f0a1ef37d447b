"""`torchvision:resnet18`: a model of torchvision, for pictures, video, detection or optical flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torchvision.models

from exportlint.zoo.running import Built, call, first_that_runs

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

_BATCH = 2


def names() -> list[str]:
    return list(torchvision.models.list_models())


def build(name: str, options: Mapping[str, Any]) -> Built:
    """`options` are those of torchvision.models.get_model."""
    if name not in names():
        raise LookupError(name)

    def chosen(more: dict[str, Any]) -> dict[str, Any]:
        return {"weights": None, **more, **options}

    def make(more: dict[str, Any]) -> Any:
        return torchvision.models.get_model(name, **chosen(more))

    # Detection would load the weights of its backbone; only some transformers can be made for small pictures.
    variants: list[dict[str, Any]] = [{"weights_backbone": None}, {"image_size": 64}, {}]
    variant, model, args, kwargs = first_that_runs(variants, make, _inputs)
    code = f"{call('torchvision.models.get_model', chosen(variant), name)}.eval()"
    return model, args, kwargs, ("import torchvision", code)


def _inputs(model: Any) -> Iterator[tuple[tuple[Any, ...], dict[str, Any]]]:
    family = type(model).__module__.removeprefix("torchvision.models.").partition(".")[0]
    for size in (64, 128, 224, 299):
        match family:
            case "detection":
                yield ([torch.rand(3, size, size)],), {}
            case "optical_flow":
                yield (torch.rand(_BATCH, 3, size, size), torch.rand(_BATCH, 3, size, size)), {}
            case "video":
                yield (torch.rand(1, 3, 16, size, size),), {}
            case _:
                yield (torch.rand(_BATCH, 3, size, size),), {}
