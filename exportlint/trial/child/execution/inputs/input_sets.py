"""Make sets of inputs: the sample, and other values of the same shapes."""

from __future__ import annotations

from typing import Any

import torch

from exportlint.trial.child.loading.loaded import Loaded, copied
from exportlint.trial.child.loading.seeding import seed


# The scripts of `--save-repro` hold the text of these two functions, so that they need nothing but torch.
def with_other_values(args: Any, number: int) -> Any:
    """Other values of the same shapes, such that a model still takes them: ranges and integers stay the sample's."""
    from torch.utils import _pytree as pytree  # noqa: PLC0415 - see above

    generator = torch.Generator().manual_seed(number)
    seen: dict[int, Any] = {}

    def other(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.is_sparse or leaf.is_quantized or leaf.is_nested:
            return leaf
        # The same tensor given twice stays the same tensor.
        return seen.setdefault(id(leaf), _other_tensor(leaf, generator))

    return pytree.tree_map(other, args)


def _other_tensor(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    if tensor.numel() == 0 or tensor.dtype.is_complex:
        return tensor
    if not tensor.dtype.is_floating_point:
        order = torch.randperm(tensor.numel(), generator=generator)
        return tensor.detach().reshape(-1)[order].reshape(tensor.shape).clone()
    plain = tensor.detach().double()
    low, high = float(plain.min()), float(plain.max())
    if low < high and bool(((plain == 0) | (plain == 1)).all()):  # a mask
        return tensor.detach().reshape(-1)[torch.randperm(tensor.numel(), generator=generator)].reshape(tensor.shape)
    # A sample of equal values, such as torch.ones, says nothing about the range; any other keeps its sign.
    if 0 <= low < high:
        other = torch.rand(tensor.shape, generator=generator, dtype=torch.float64) * high
    else:
        spread = float(plain.std()) if tensor.numel() > 1 else abs(low)
        other = torch.randn(tensor.shape, generator=generator, dtype=torch.float64) * (spread or 1.0)
        # Many a branch asks for the sign of a sum or a mean.
        if float(other.sum()) * float(plain.sum()) > 0:
            other = -other
    return other.to(dtype=tensor.dtype, device=tensor.device).requires_grad_(tensor.requires_grad)


Inputs = tuple[tuple[Any, ...], dict[str, Any]]


def are_meant(loaded: Loaded, input_set: int) -> bool:
    """Are the inputs of this set the target's own, not only other values of the sample's shapes?"""
    return not input_set or loaded.other_args is not None


def own_inputs(loaded: Loaded, index: int) -> Inputs:
    """Fresh arguments of the sample, which is 0, or of one of the target's other sets. Nothing else is made: what makes
    them may set an environment or a mode, which is a part of the call."""
    if not index or loaded.other_args is None:
        return inputs_of(loaded, 0)
    seed(8)
    return loaded.other_args()[index - 1], loaded.kwargs()


def inputs_of(loaded: Loaded, input_set: int) -> Inputs:
    """Fresh arguments of an input set, equal in every process: the sample, one of the target's other ones by its
    number, or, where it has none, other values of the sample's shapes."""
    if input_set and loaded.other_args:
        return own_inputs(loaded, input_set)
    seed(7 + input_set)
    args, kwargs = loaded.args(), loaded.kwargs()
    if not input_set:
        return args, kwargs
    changed: Inputs = with_other_values((args, kwargs), input_set)
    return copied(changed)  # type: ignore[no-any-return]
