"""Numbers that callers give a model as arguments, where an edit makes the callers give tensors for them.

The edited model is given what the unedited one was given: the same number in a tensor of no dims, or the same numbers
of a tuple or list in one of one dim, whatever the draw made of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from exportlint.trial.child.execution.inputs.input_sets import Inputs

Given = float | tuple[float, ...] | list[float]
# By the place of an argument, or its name.
Numbers = dict[int | str, Given]


def numbers_of(inputs: Inputs) -> Numbers:
    """Of the arguments themselves, tuples and lists of numbers alone among them; into other containers nobody looks.

    >>> numbers_of(((torch.ones(2), 3, (8, 8)), {"scale": 0.5}))
    {1: 3, 2: (8, 8), 'scale': 0.5}
    """
    args, kwargs = inputs
    places: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    return {key: one for key, one in places if _is_given(one)}


def with_numbers(inputs: Inputs, numbers: Mapping[int | str, Given]) -> Inputs:
    """The inputs, with the numbers in the tensors that stand in their places.

    >>> with_numbers(((torch.tensor(1), torch.tensor([4, 4])), {}), {0: 3, 1: (8, 6)})
    ((tensor(3), tensor([8, 6])), {})
    """
    return _replaced(inputs, numbers, lambda held, given: torch.tensor(given, dtype=held.dtype, device=held.device))


def as_numbers(inputs: Inputs, numbers: Mapping[int | str, Given]) -> Inputs:
    """The inputs, with numbers for those tensors, to be compared."""
    return _replaced(inputs, numbers, _as_given)


def in_tensors(inputs: Inputs, numbers: Mapping[int | str, Given]) -> bool:
    """Is one of the numbers given as a tensor now?"""
    args, kwargs = inputs
    places: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    return any(_holds(one, numbers[key]) for key, one in places if key in numbers)


def _replaced(
    inputs: Inputs, numbers: Mapping[int | str, Given], change: Callable[[torch.Tensor, Given], Any]
) -> Inputs:
    args, kwargs = inputs

    def new(key: int | str, held: Any) -> Any:
        return change(held, numbers[key]) if key in numbers and _holds(held, numbers[key]) else held

    return tuple(new(key, one) for key, one in enumerate(args)), {key: new(key, one) for key, one in kwargs.items()}


def _is_given(value: Any) -> bool:
    if type(value) in {tuple, list}:
        return bool(value) and all(isinstance(one, bool | int | float) for one in value)
    return isinstance(value, bool | int | float)


def _as_given(held: torch.Tensor, given: Given) -> Given:
    if isinstance(given, tuple | list):
        return type(given)(type(one)(now) for one, now in zip(given, held.tolist(), strict=True))
    return type(given)(held.item())


def _holds(held: Any, given: Given) -> bool:
    shape = (len(given),) if isinstance(given, tuple | list) else ()
    return isinstance(held, torch.Tensor) and held.shape == shape
