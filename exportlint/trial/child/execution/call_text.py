"""Put the arguments of a call into words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


def arguments_text(args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """By type and shape, as `float32[2, 3], scale=2.0`."""
    return ", ".join([*map(_text, args), *(f"{key}={_text(value)}" for key, value in kwargs.items())])


def _text(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}"
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else type(value).__name__
