"""Inputs for asking whether two versions of a model compute the same: the target's own, and draws of other values."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import are_meant, inputs_of, with_other_values
from exportlint.trial.child.execution.inputs.opened_objects import changed_inside
from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded


IN_TRAINING = ", in training"


def drawn_inputs(loaded: Loaded) -> Iterator[tuple[str, Inputs]]:
    """Each set of inputs with what it is: sample and other inputs of the target, then values that a branch on data may
    tell apart from the sample's: drawn anew, negated, zero, large."""
    yield "the sample", inputs_of(loaded, 0)
    yield "the other inputs", inputs_of(loaded, 1) if are_meant(loaded, 1) else _drawn(loaded, 1)
    for number in (2, 3):
        yield f"draw {number - 1} of other values", _drawn(loaded, number)
    for text, change in _CHANGES.items():
        yield text, changed_inside(inputs_of(loaded, 0), partial(_changed, change=change))


def further_inputs(loaded: Loaded) -> Iterator[tuple[str, Inputs]]:
    """More of the kind, for models that have a side of a branch which none of those takes."""
    for text, change in _FURTHER.items():
        yield text, changed_inside(inputs_of(loaded, 0), partial(_changed, change=change))


def training_inputs(loaded: Loaded) -> Iterator[tuple[str, Inputs]]:
    """For a model with layers that gather statistics where it is trained, which a branch may keep from them."""
    model = loaded.eager()
    parts = model.modules() if isinstance(model, torch.nn.Module) else ()
    if any(getattr(part, "track_running_stats", False) for part in parts):
        yield f"the sample{IN_TRAINING}", inputs_of(loaded, 0)
        negated = partial(_changed, change=torch.neg)
        yield f"the sample, negated{IN_TRAINING}", changed_inside(inputs_of(loaded, 0), negated)


def _drawn(loaded: Loaded, number: int) -> Any:
    return changed_inside(inputs_of(loaded, 0), lambda known: with_other_values(known, number))


_CHANGES: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "the sample, negated": torch.neg,
    "zeros": torch.zeros_like,
    "the sample times 100": lambda tensor: tensor * 100,
}


_FURTHER: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "the sample and 10": lambda tensor: tensor + 10,
    "the sample less 10": lambda tensor: tensor - 10,
    "the sample by 100": lambda tensor: tensor / 100,
    "no numbers": lambda tensor: torch.full_like(tensor, torch.nan),
}


def _changed(inputs: Inputs, change: Callable[[torch.Tensor], torch.Tensor]) -> Any:
    """Numbers with a fraction only: integers may be indexes, and have other values in the draws."""

    def other(leaf: Any) -> Any:
        if (
            isinstance(leaf, torch.Tensor)
            and leaf.dtype.is_floating_point
            and not leaf.is_sparse
            and not leaf.is_nested
        ):
            return change(leaf.detach()).requires_grad_(leaf.requires_grad)
        return leaf

    return pytree.tree_map(other, inputs)
