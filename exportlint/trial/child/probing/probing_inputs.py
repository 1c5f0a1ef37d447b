"""Values that take a model other ways than its sample does: of other signs, sizes and extremes, of the same shapes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import Inputs, with_other_values
from exportlint.trial.child.execution.inputs.pytree_leaves import leaves, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_FEW = 4  # elements that are shown one by one


def probing_inputs(sample: Inputs) -> Iterator[tuple[str, Inputs]]:
    """Each with how it was made, the most usual first; what leaves the sample as it is, is left out."""
    known = snapshot(sample)
    for how, inputs in _changed(sample):
        if compare(known, snapshot(inputs), exact=True):
            yield how, inputs


def _changed(sample: Inputs) -> Iterator[tuple[str, Inputs]]:
    for number in (1, 2, 3):
        yield "other values of the same shapes", with_other_values(sample, number)
    for how, change in _CHANGES.items():
        yield how, pytree.tree_map_only(torch.Tensor, partial(_where_plain, change), sample)


def _where_plain(change: Callable[[torch.Tensor], torch.Tensor], tensor: torch.Tensor) -> torch.Tensor:
    return change(tensor) if _is_plain(tensor) else tensor


def _is_plain(tensor: torch.Tensor) -> bool:
    """Has it an order of values, and can they be written down?"""
    return tensor.layout is torch.strided and not (tensor.is_quantized or tensor.dtype.is_complex)


def _times(factor: float, tensor: torch.Tensor) -> torch.Tensor:
    return tensor * factor if tensor.is_floating_point() else tensor


def _filled(value: bool, tensor: torch.Tensor) -> torch.Tensor:
    return torch.full_like(tensor, value) if _is_mask(tensor) else tensor


def _alternating(tensor: torch.Tensor) -> torch.Tensor:
    if not _is_mask(tensor):
        return tensor
    return (torch.arange(tensor.numel()) % 2).reshape(tensor.shape).to(tensor)


def _is_mask(tensor: torch.Tensor) -> bool:
    """Truth values, or numbers that are nothing but 0 and 1; floats only where both occur."""
    if tensor.dtype == torch.bool:
        return True
    zeros, ones = tensor == 0, tensor == 1
    both = bool(zeros.any()) and bool(ones.any())
    return bool((zeros | ones).all()) and (both or not tensor.is_floating_point())


_CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "the sample's values, negated": partial(_times, -1.0),
    "the sample's values times 100": partial(_times, 100.0),
    "the sample's values times 0.001": partial(_times, 0.001),
    "masks with every other value True": _alternating,
    "masks all True": partial(_filled, True),
    "masks all False": partial(_filled, False),
    "zeros": torch.zeros_like,
    "ones": torch.ones_like,
}


def inputs_in_words(inputs: Inputs) -> str:
    """Few values are shown, of many their least and their largest."""
    return ", ".join(_in_words(value) for path, value in leaves(inputs) if not _is_structure(path))


def _is_structure(path: str) -> bool:
    return path.startswith("len(") or path.endswith(".keys()")


def _in_words(value: Any) -> str:
    if not isinstance(value, torch.Tensor):
        return repr(value)
    if not _is_plain(value):
        return f"{_kind(value)}{list(value.shape)}"
    if value.numel() <= _FEW:
        return str([round(one, 4) if isinstance(one, float) else one for one in value.reshape(-1).tolist()])
    if value.dtype == torch.bool:
        return f"bool{list(value.shape)} with {int(value.sum())} True"
    least, most = value.min().item(), value.max().item()
    return f"{_kind(value)}{list(value.shape)} from {least:.4g} to {most:.4g}"


def _kind(tensor: torch.Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")
