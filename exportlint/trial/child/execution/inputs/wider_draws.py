"""Inputs far from the sample that eager may take all the same: other sizes of every dim, larger numbers, other layouts.

What an edit bounds by the sample (a loop, a table, a size that is written down) holds on whatever is like the sample.
Somebody who judges an edit of another person asks for these, too, as far as the model before the edit takes them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.opened_objects import changed_inside
from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.trial.child.execution.inputs.input_sets import Inputs

    Place = tuple[int, int]  # the tensor's number and its dim; -1 and a size: every dim of that size
    Change = Callable[[torch.Tensor], torch.Tensor]

# In words, with the amount, the tensor's number, and its dim or size.
INTEGERS = "integers times {}"
ONE_TENSOR, ALIKE = "{0} in dim {2} of tensor {1} alone", "{0} in every dim of {2}"
LONG = "{0} in every dim of {2}, integers too"
ALL_INTEGERS, ALL_FLOATS = "integers all {}", "numbers with a fraction all {}"
# Odd ones: floats hold multiples of large powers of two as they are. The last passes what int32 and float32 hold.
_TIMES = (3.0, 31.0, 1001.0, 1000003.0)
_LONG = 80  # more than the sizes that are usually written down
_MOST_SIZES, _MOST_DIMS = 6, 8
_LARGEST_SIZE, _SIZES_AT_A_NUMBER = 1 << 13, 3


def is_wide(how: str) -> bool:
    return how in _VALUES or how in _BY_AMOUNT


def changes_sizes(how: str) -> bool:
    return how in (ONE_TENSOR, ALIKE, LONG, *_RANKS)


def changes_rank(how: str) -> bool:
    return how in _RANKS


def parts_sizes(how: str) -> bool:
    """Does it give dims other sizes that are equal in the sample?"""
    return how == ONE_TENSOR


def wide_inputs(sample: Inputs, how: str, amount: float, at: Place) -> Inputs:
    """The sample, changed so."""
    if how in _VALUES:
        return _changed(sample, lambda _number, leaf: _VALUES[how](leaf))
    return _BY_AMOUNT[how](sample, amount, at)


def wide_ways(sample: Inputs) -> Iterator[list[tuple[str, float, Place]]]:
    """Those that change the sample, as arguments of `wide_inputs`: in each list one goes further than the one before
    it, so what comes behind one that the model refuses is refused, too."""
    tensors = list(_leaves(sample))
    if any(_is_integer(one) and bool(one.any()) for one in tensors):
        yield [(INTEGERS, amount, (0, 0)) for amount in _TIMES]
    yield from _of_lists(sample)
    for how, change in _VALUES.items():
        if any(_is_changed(one, change(one)) for one in tensors):
            yield [(how, 0.0, (0, 0))]
    dims = [(number, dim, size) for number, one in enumerate(tensors) for dim, size in enumerate(one.shape) if size > 1]
    for size in [*dict.fromkeys(size for _, _, size in dims)][:_MOST_SIZES]:
        longer = float(size * math.ceil(_LONG / size))
        yield [(ALIKE, float(size + 1), (-1, size)), (ALIKE, 2.0 * size, (-1, size)), (LONG, longer, (-1, size))]
        yield [(ALIKE, float(size - 1), (-1, size))]
    sizes = [size for _, _, size in dims]
    for number, dim, size in [one for one in dims if sizes.count(one[2]) > 1][:_MOST_DIMS]:
        yield [(ONE_TENSOR, float(size + 1), (number, dim)), (ONE_TENSOR, 2.0 * size, (number, dim))]


def ways_around(sample: Inputs, number: float) -> Iterator[list[tuple[str, float, Place]]]:
    """Values and sizes around a number that somebody wrote down, lists as for `wide_ways`."""
    tensors = list(_leaves(sample))
    whole = number == int(number)
    if whole and any(map(_is_integer, tensors)):
        yield from ([(ALL_INTEGERS, one, (0, 0))] for one in (number - 1, number, number + 1))
    if any(one.dtype.is_floating_point for one in tensors):
        yield [(ALL_FLOATS, number, (0, 0))]
    if whole and 0 < number < _LARGEST_SIZE:
        sizes = dict.fromkeys(size for one in tensors for size in one.shape if size > 1)
        for size in [*sizes][:_SIZES_AT_A_NUMBER]:
            # Only at 1 is there a size below that others do not have.
            yield from ([(ALIKE, one, (-1, size))] for one in ([0.0] if number == 1 else []))
            yield [(ALIKE, number, (-1, size)), (ALIKE, number + 1, (-1, size))]


def _integers(sample: Inputs, amount: float, _at: Place) -> Inputs:
    return _changed(sample, lambda _number, leaf: leaf * int(amount) if _is_integer(leaf) else leaf)


def _one_tensor(sample: Inputs, amount: float, at: Place) -> Inputs:
    return _changed(sample, lambda number, leaf: _of_size(leaf, at[1], int(amount)) if number == at[0] else leaf)


def _alike(sample: Inputs, amount: float, at: Place) -> Inputs:
    def other(_number: int, leaf: torch.Tensor) -> torch.Tensor:
        for dim in [dim for dim, size in enumerate(leaf.shape) if size == at[1]]:
            leaf = _of_size(leaf, dim, int(amount))
        return leaf

    return _changed(sample, other)


def _long(sample: Inputs, amount: float, at: Place) -> Inputs:
    """Lengths and places are integers: as much larger as the dim is longer."""
    return _integers(_alike(sample, amount, at), amount / at[1], at)


def _of_size(leaf: torch.Tensor, dim: int, size: int) -> torch.Tensor:
    """Its rows, again and again."""
    return leaf.index_select(dim, torch.arange(size, device=leaf.device) % leaf.shape[dim]) if leaf.dim() else leaf


def _all_integers(sample: Inputs, amount: float, _at: Place) -> Inputs:
    return _changed(sample, lambda _number, leaf: torch.full_like(leaf, int(amount)) if _is_integer(leaf) else leaf)


def _all_floats(sample: Inputs, amount: float, _at: Place) -> Inputs:
    return _changed(
        sample, lambda _number, leaf: torch.full_like(leaf, amount) if leaf.dtype.is_floating_point else leaf
    )


MORE, FEWER = "one entry more in every list", "one entry less in every list"
MORE_IN_ONE = "one entry more in the first list"


def _of_lists(sample: Inputs) -> Iterator[list[tuple[str, float, Place]]]:
    """Lists of tensors have as many as somebody gives; one alone, where several are to be equally long."""
    lists = _lists_in(sample)
    if lists:
        yield from ([(how, 0.0, (0, 0))] for how in (MORE, FEWER))
    if len(lists) > 1:
        yield [(MORE_IN_ONE, 0.0, (0, 0))]


def _lists_in(sample: Any) -> list[list[Any]]:
    found: list[list[Any]] = []

    def look(value: Any) -> None:
        if isinstance(value, list) and value and all(map(_is_dense, value)):
            found.append(value)
        for one in value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ():
            look(one)

    look(sample)
    return found


def _with_other_lists(sample: Inputs, how: str) -> Inputs:
    lists = _lists_in(sample)
    chosen = set(map(id, lists[:1] if how == MORE_IN_ONE else lists))

    def other(value: Any) -> Any:
        if id(value) in chosen:
            return value[:-1] if how == FEWER else [*value, value[-1].detach().clone()]
        if type(value) is dict:
            return {key: other(one) for key, one in value.items()}
        return type(value)(map(other, value)) if type(value) in {list, tuple} else value

    changed: Inputs = other(sample)
    return changed


def _with_lists(how: str, sample: Inputs, _amount: float, _at: Place) -> Inputs:
    return _with_other_lists(sample, how)


_BY_AMOUNT: dict[str, Callable[[Inputs, float, Place], Inputs]] = {
    ALL_INTEGERS: _all_integers,
    ALL_FLOATS: _all_floats,
    **{how: partial(_with_lists, how) for how in (MORE, FEWER, MORE_IN_ONE)},
    INTEGERS: _integers,
    ONE_TENSOR: _one_tensor,
    ALIKE: _alike,
    LONG: _long,
}


def _of_floats(change: Change) -> Change:
    return lambda leaf: change(leaf) if leaf.dtype.is_floating_point and leaf.numel() else leaf


def _filled_row(leaf: torch.Tensor, value: float) -> torch.Tensor:
    row = leaf.clone()
    row[(0,) * max(leaf.dim() - 1, 0)] = value
    return row


def _one_value(leaf: torch.Tensor, value: float) -> torch.Tensor:
    flat = leaf.clone().reshape(-1)
    flat[:1] = value
    return flat.reshape(leaf.shape)


def _turned(leaf: torch.Tensor) -> torch.Tensor:
    """Equal values that lie otherwise in memory: the last dim first, or with gaps."""
    if leaf.dim() > 1:
        return leaf.movedim(-1, 0).contiguous().movedim(0, -1)
    return torch.stack([leaf, leaf], -1)[..., 0] if leaf.dim() else leaf


def _expanded(leaf: torch.Tensor) -> torch.Tensor:
    return leaf[:1].clone().expand(leaf.shape) if leaf.dim() and leaf.numel() else leaf


_RANKS: dict[str, Change] = {
    "one dim more in front": lambda leaf: leaf[None].repeat(2, *[1] * leaf.dim()),
    "the first entry of the first dim": lambda leaf: leaf[0] if leaf.dim() and leaf.shape[0] else leaf,
    "one dim more of every tensor with several": lambda leaf: torch.stack([leaf, leaf], 1) if leaf.dim() > 1 else leaf,
}
_VALUES: dict[str, Change] = {
    "the sample with a negative infinity": _of_floats(partial(_one_value, value=-math.inf)),
    "the sample with a row of negative infinities": _of_floats(partial(_filled_row, value=-math.inf)),
    "the sample with a row of infinities": _of_floats(partial(_filled_row, value=math.inf)),
    "the sample times 1e12": _of_floats(lambda leaf: leaf * 1e12),
    "the sample times -1e12": _of_floats(lambda leaf: leaf * -1e12),
    "the sample times 1e-12": _of_floats(lambda leaf: leaf * 1e-12),
    "the sample, transposed in memory": _turned,
    "the first row, expanded": _expanded,
    **_RANKS,
}


def _changed(sample: Inputs, change: Callable[[int, torch.Tensor], torch.Tensor]) -> Inputs:
    number = -1

    def other(leaf: Any) -> Any:
        nonlocal number
        if not _is_dense(leaf):
            return leaf
        number += 1
        now = change(number, leaf.detach())
        return leaf if now is leaf else now.requires_grad_(leaf.requires_grad and now.dtype.is_floating_point)

    return changed_inside(sample, partial(pytree.tree_map, other))  # type: ignore[no-any-return]


def _leaves(sample: Inputs) -> Sequence[torch.Tensor]:
    found: list[torch.Tensor] = []
    _changed(sample, lambda _number, leaf: found.append(leaf) or leaf)  # type: ignore[func-returns-value]
    return found


def _is_dense(leaf: Any) -> bool:
    return isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and not (leaf.is_nested or leaf.is_quantized)


def _is_integer(leaf: torch.Tensor) -> bool:
    return not (leaf.dtype.is_floating_point or leaf.dtype.is_complex or leaf.dtype == torch.bool)


def _is_changed(before: torch.Tensor, now: torch.Tensor) -> bool:
    return before.shape != now.shape or before.stride() != now.stride() or not torch.equal(before, now)
