"""The gradients of a call: of a weighted sum of its outputs, with respect to parameters and inputs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.side_effects import recorded_effects
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager

    from exportlint.trial.child.execution.inputs.input_sets import Inputs


_RELATIVE, _ABSOLUTE = 1e-3, 1e-6  # of the largest number of a gradient: sums are made in another order
_HALF = 5e-2
# Of the largest number of all gradients: what is zero by arithmetic, such as that of a bias in front of a batch norm,
# is what rounding leaves of sums as large as the others.
_LEFT_BY_ROUNDING = 1e-6


@dataclass(frozen=True)
class OtherGradient:
    """The first gradient that two runs do not share. `is_nan`: it is no number where the first run's is one."""

    name: str
    is_nan: bool
    max_error: float = float("nan")

    @property
    def in_words(self) -> str:
        if self.is_nan:
            return f"the gradient of {self.name} is no number where it was one"
        return f"the gradient of {self.name} differs (by {self.max_error:.3g})"


def weighted_sum(parts: list[torch.Tensor]) -> torch.Tensor:
    """With a weight of its own for each value: the plain sum of a softmax has no gradient."""
    weights = [torch.linspace(0.5, 1.5, part.numel(), dtype=part.dtype).reshape(part.shape) for part in parts]
    return torch.stack([(part * weight).sum().double() for part, weight in zip(parts, weights, strict=True)]).sum()


def may_have_gradient(leaf: Any) -> bool:
    """Is it a tensor that autograd derives by?"""
    return isinstance(leaf, torch.Tensor) and leaf.dtype.is_floating_point and leaf.layout is torch.strided


def gradients(
    make: Callable[[], Any],
    inputs: Inputs,
    number: int,
    around: Callable[[], AbstractContextManager[Any]] = contextlib.nullcontext,
) -> dict[str, torch.Tensor]:
    """Of the parameters that require them and of the inputs, by name, in one call of a fresh model; those of the
    parameters alone where inputs cannot have any, such as one that is written to; none where the model is not to be
    trained, or eager refuses.

    number   seeds the call
    around   is entered for the call
    """
    for by_inputs in (True, False):
        with contextlib.suppress(Exception):
            return _gradients(make(), inputs, number, around, by_inputs=by_inputs)
    return {}


def first_difference(ours: Mapping[str, torch.Tensor], theirs: Mapping[str, torch.Tensor]) -> OtherGradient | None:
    """Of the gradients that both have, where the first ones are numbers; one that the others lack is zero."""
    inputs = any(name.startswith("input ") for name in theirs)
    finite_parts = (mine[torch.isfinite(mine)] for mine in ours.values())
    noise = _LEFT_BY_ROUNDING * max((one.abs().max().item() for one in finite_parts if one.numel()), default=0.0)
    for name, mine in ours.items():
        if name not in theirs and name.startswith("input ") and not inputs:
            continue
        other = theirs.get(name, torch.zeros_like(mine))
        finite = torch.isfinite(mine)
        if mine.shape != other.shape or not bool(finite.any()):
            continue
        if not bool(torch.isfinite(other[finite]).all()):
            return OtherGradient(name, is_nan=True)
        gap = (mine[finite].double() - other[finite].double()).abs().max().item()
        largest = max(mine[finite].abs().max().item(), other[finite].abs().max().item())
        relative = _RELATIVE if mine.dtype.itemsize > torch.half.itemsize else _HALF
        if gap > _ABSOLUTE + noise + relative * largest:
            return OtherGradient(name, is_nan=False, max_error=gap)
    return None


def _gradients(
    model: Any, inputs: Inputs, number: int, around: Callable[[], AbstractContextManager[Any]], *, by_inputs: bool
) -> dict[str, torch.Tensor]:
    weights: Any = getattr(model, "named_parameters", list)()
    wanted = {name: one for name, one in weights if one.requires_grad and not torch.nn.parameter.is_lazy(one)}
    is_trained = bool(wanted)
    given: dict[str, torch.Tensor] = {}

    def open_to_gradients(leaf: Any) -> Any:
        if not by_inputs or not may_have_gradient(leaf):
            return leaf
        given[f"input {len(given)}"] = own = leaf.detach().clone().requires_grad_()
        return own * 1  # no leaf of autograd's, which a model might not write to

    own_grad = any(may_have_gradient(leaf) and leaf.requires_grad for leaf in pytree.tree_leaves(inputs))
    args, kwargs = pytree.tree_map(open_to_gradients, copied(inputs))
    seed(number)
    with recorded_effects(), around():
        outputs = pytree.tree_leaves(model(*args, **kwargs))
    parts = [leaf for leaf in outputs if may_have_gradient(leaf) and leaf.requires_grad]
    wanted |= given
    if not parts or not wanted or not (is_trained or own_grad):
        return {}
    found = torch.autograd.grad(weighted_sum(parts), list(wanted.values()), allow_unused=True)
    pairs = zip(wanted.items(), found, strict=True)
    return {name: (torch.zeros_like(one) if grad is None else grad).detach() for (name, one), grad in pairs}
