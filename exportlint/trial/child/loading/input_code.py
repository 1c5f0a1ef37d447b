"""Write example inputs as code that makes the like of them."""

from __future__ import annotations

from typing import Any

import torch

_MOST_WRITTEN = 64  # numbers that a person still reads


def written(value: Any) -> str | None:
    """An expression: tensors of the same shape, type and range. None where a value has no short one."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if type(value) is dict:
        return _joined("{", [f"{key!r}: " for key in value], list(value.values()), "}")
    if type(value) in (list, tuple):
        ends = "[]" if isinstance(value, list) else "()"
        return _joined(ends[0], [""] * len(value), list(value), f",{ends[1]}" if len(value) == 1 else ends[1])
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else None


def _joined(start: str, before: list[str], values: list[Any], end: str) -> str | None:
    """Each value behind its key, if it has one; None where one has no code."""
    items = [written(value) for value in values]
    filled = ", ".join(f"{key}{item}" for key, item in zip(before, items, strict=True))
    return None if None in items else f"{start}{filled}{end}"


def _tensor(tensor: torch.Tensor) -> str | None:
    if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided or tensor.is_complex():
        return None
    shape = tuple(tensor.shape)
    kind = "" if tensor.dtype is torch.float32 else f", dtype={tensor.dtype}"
    if tensor.numel() and bool((tensor == tensor.reshape(-1)[0]).all()):
        return f"torch.full({shape}, {tensor.reshape(-1)[0].item()}{kind})"
    if tensor.is_floating_point():
        unit = bool((tensor >= 0).all() and (tensor < 1).all())
        return f"torch.{'rand' if unit else 'randn'}({shape}{kind})"
    if tensor.numel() <= _MOST_WRITTEN:
        return f"torch.tensor({tensor.tolist()}{kind})"
    return f"torch.randint({int(tensor.min())}, {int(tensor.max()) + 1}, {shape}{kind})"
