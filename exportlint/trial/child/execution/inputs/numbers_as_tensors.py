"""Numbers that callers give a model as arguments, where an edit makes the callers give tensors of no dims for them.

The edited model is given what the unedited one was given: the same number in a tensor, whatever the draw made of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from exportlint.trial.child.execution.inputs.input_sets import Inputs

# By the place of an argument, or its name.
Numbers = dict[int | str, float]


def numbers_of(inputs: Inputs) -> Numbers:
    """Of the arguments themselves; what stands inside of containers is not looked at.

    >>> numbers_of(((torch.ones(2), 3), {"scale": 0.5}))
    {1: 3, 'scale': 0.5}
    """
    args, kwargs = inputs
    places: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    return {key: one for key, one in places if isinstance(one, bool | int | float)}


def with_numbers(inputs: Inputs, numbers: Mapping[int | str, float]) -> Inputs:
    """The inputs, with the numbers in the tensors that stand in their places.

    >>> with_numbers(((torch.tensor(1),), {}), {0: 3})
    ((tensor(3),), {})
    """
    return _replaced(inputs, numbers, torch.full_like)


def as_numbers(inputs: Inputs, numbers: Mapping[int | str, float]) -> Inputs:
    """The inputs, with numbers for those tensors, to be compared."""
    return _replaced(inputs, numbers, lambda held, number: type(number)(held.item()))


def in_tensors(inputs: Inputs, numbers: Mapping[int | str, float]) -> bool:
    """Is one of the numbers given as a tensor now?"""
    args, kwargs = inputs
    return any(_holds_number(one) for key, one in [*enumerate(args), *kwargs.items()] if key in numbers)


def _replaced(
    inputs: Inputs, numbers: Mapping[int | str, float], change: Callable[[torch.Tensor, float], Any]
) -> Inputs:
    args, kwargs = inputs

    def new(key: int | str, held: Any) -> Any:
        return change(held, numbers[key]) if key in numbers and _holds_number(held) else held

    return tuple(new(key, one) for key, one in enumerate(args)), {key: new(key, one) for key, one in kwargs.items()}


def _holds_number(held: Any) -> bool:
    return isinstance(held, torch.Tensor) and held.dim() == 0
