"""Numbers that callers give a model as arguments, where an edit makes the callers give tensors for them.

The edited model is given what the unedited one was given: the same number in a tensor of no dims, or the same numbers
of a tuple or list in one of one dim, whatever the draw made of that. Where the unedited one was given None
or a word, the edited one is given what its callers have in the place, whose values no draw changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from exportlint.trial.child.execution.inputs.input_sets import Inputs

Given = float | tuple[float, ...] | list[float] | str | None
# By the place of an argument, or its name.
Numbers = dict[int | str, Given]


def numbers_of(inputs: Inputs) -> Numbers:
    """Of the arguments themselves, tuples and lists of numbers alone, words and None among them; into other containers
    nobody looks.

    >>> numbers_of(((torch.ones(2), 3, (8, 8)), {"scale": 0.5}))
    {1: 3, 2: (8, 8), 'scale': 0.5}
    """
    args, kwargs = inputs
    places: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    return {key: one for key, one in places if _is_given(one)}


def with_numbers(
    inputs: Inputs, numbers: Mapping[int | str, Given], begun: Callable[[], Inputs], *, of_sample_size: bool = True
) -> Inputs:
    """The inputs, with the numbers in the tensors that stand in their places. `begun`: what callers give, as it is; of
    other sizes than the sample's they give nothing where they gave nothing.

    >>> with_numbers(((torch.tensor(1), torch.tensor([4, 4])), {}), {0: 3, 1: (8, 6)}, tuple)
    ((tensor(3), tensor([8, 6])), {})
    >>> with_numbers(((torch.ones(2), torch.rand(2)), {}), {1: None}, lambda: ((torch.ones(2), torch.zeros(2)), {}))
    ((tensor([1., 1.]), tensor([0., 0.])), {})
    """

    def given(key: int | str, held: torch.Tensor, number: Given) -> Any:
        if number is None and not of_sample_size:
            return None
        if number is None or isinstance(number, str):
            return _at(begun(), key, held)
        return torch.tensor(number, dtype=held.dtype, device=held.device)

    return _replaced(inputs, numbers, given)


def _at(inputs: Inputs, key: int | str, held: torch.Tensor) -> torch.Tensor | None:
    """What stands there, where it is of the size that the draw asks for; else nothing."""
    args, kwargs = inputs
    found = kwargs.get(key) if isinstance(key, str) else args[key] if key < len(args) else None
    return found.to(held.dtype) if isinstance(found, torch.Tensor) and found.shape == held.shape else None


def as_numbers(inputs: Inputs, numbers: Mapping[int | str, Given]) -> Inputs:
    """The inputs, with numbers for those tensors, to be compared."""
    return _replaced(inputs, numbers, lambda _key, held, given: _as_given(held, given))


def in_tensors(inputs: Inputs, numbers: Mapping[int | str, Given]) -> bool:
    """Is one of the numbers given as a tensor now?"""
    args, kwargs = inputs
    places: list[tuple[int | str, Any]] = [*enumerate(args), *kwargs.items()]
    return any(_holds(one, numbers[key]) for key, one in places if key in numbers)


def _replaced(
    inputs: Inputs, numbers: Mapping[int | str, Given], change: Callable[[int | str, torch.Tensor, Given], Any]
) -> Inputs:
    args, kwargs = inputs

    def new(key: int | str, held: Any) -> Any:
        return change(key, held, numbers[key]) if key in numbers and _holds(held, numbers[key]) else held

    return tuple(new(key, one) for key, one in enumerate(args)), {key: new(key, one) for key, one in kwargs.items()}


def _is_given(value: Any) -> bool:
    if type(value) in {tuple, list}:
        return bool(value) and all(isinstance(one, bool | int | float) for one in value)
    return value is None or isinstance(value, bool | int | float | str)


def _as_given(held: torch.Tensor, given: Given) -> Given:
    if isinstance(given, tuple | list):
        return type(given)(type(one)(now) for one, now in zip(given, held.tolist(), strict=True))
    return given if given is None or isinstance(given, str) else type(given)(held.item())


def _holds(held: Any, given: Given) -> bool:
    if given is None or isinstance(given, str):
        return isinstance(held, torch.Tensor)
    shape = (len(given),) if isinstance(given, tuple | list) else ()
    return isinstance(held, torch.Tensor) and held.shape == shape
