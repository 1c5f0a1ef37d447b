"""Inputs for asking whether two versions of a model compute the same: the target's own, and others made of them.

A draw says how inputs are made, and makes equal ones in every process.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import are_meant, inputs_of, with_other_values
from exportlint.trial.child.execution.inputs.opened_objects import changed_inside
from exportlint.trial.child.execution.inputs.wider_draws import (
    ALL_INTEGERS,
    changes_sizes,
    is_wide,
    ways_around,
    wide_inputs,
    wide_ways,
)
from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded

    Change = Callable[[torch.Tensor], torch.Tensor]


SAMPLE, OTHER, ZEROS = "the sample", "the other inputs", "zeros"


@dataclass(frozen=True, slots=True)
class InputDraw:
    """How inputs are made: a key of the tables below, and how much of it where it can be more or less.

    dtype  of the model and of every number with a fraction; None: the sample's
    is_random  does the model draw numbers with it, of which a rewrite may draw others?
    at  which tensor and dim, where the draw is about one
    on_meta  of the model and of every tensor: on the device that computes shapes alone
    """

    how: str
    amount: float = 0.0
    in_training: bool = False
    dtype: torch.dtype | None = None
    is_random: bool = False
    at: tuple[int, int] = (0, 0)
    on_meta: bool = False

    @property
    def in_words(self) -> str:
        text = self.how.format(f"{self.amount:.9g}", *self.at)
        text = f"{text} on the meta device" if self.on_meta else text
        text = f"{text} in {str(self.dtype).removeprefix('torch.')}" if self.dtype else text
        return f"{text}, in training" if self.in_training else text

    @property
    def is_told(self) -> bool:
        """Is a difference no reason to reject a rewrite, where somebody is told of it?"""
        return self.dtype is not None or self.how == WITH_NAN or self.is_random

    @property
    def other_size(self) -> str:
        """The dim whose size is another than the sample's in some call; "" where none is."""
        return self.in_words if changes_sizes(self.how) or self.counts_from_the_end else _OTHER_SIZES.get(self.how, "")

    @property
    def counts_from_the_end(self) -> bool:
        """Do integers, such as indexes, count so, whatever the sample's do? Not every operator takes them."""
        return self.how == ALL_INTEGERS and self.amount < 0

    @property
    def is_wide(self) -> bool:
        """Is it far from the sample? Then one call is asked for, and no more of a model that refuses it."""
        return is_wide(self.how) or self.on_meta or self.dtype == torch.half

    @property
    def is_given(self) -> bool:
        """Are the inputs the target's own?"""
        return self.how in (SAMPLE, OTHER)


def calls_of(draw: InputDraw, usual: int) -> int:
    """How often in a row a model is called with it."""
    return int(draw.amount) if draw.how == OFTEN else 1 if draw.is_wide else usual


def in_turn(draw: InputDraw, calls: int) -> list[InputDraw]:
    """What each of some calls in a row gets: equal inputs but in draws that take others in turn, which end as they
    began."""
    if draw.how == TYPES_IN_TURN:
        other = InputDraw(SAMPLE, dtype=torch.bfloat16)
        return [InputDraw(SAMPLE), *[other] * (calls - 2), InputDraw(SAMPLE)]
    if draw.how not in _TURNS:
        return [draw] * calls
    turns = [replace(draw, how=how) for how in _TURNS[draw.how]]
    return [*islice(cycle(turns), calls - 1), turns[0]]


def made(loaded: Loaded, draw: InputDraw) -> Inputs:
    """Fresh inputs; equal ones for the same draw in every process. Of several in turn, the first."""
    if draw.on_meta:
        return _on_meta(made(loaded, replace(draw, on_meta=False)))
    if draw.dtype is not None:
        plain = made(loaded, replace(draw, dtype=None))
        return changed_inside(plain, partial(_with_fractions, change=lambda tensor: tensor.to(draw.dtype)))  # type: ignore[no-any-return]
    if draw.how in _TURNS:
        return made(loaded, InputDraw(_TURNS[draw.how][0]))
    if draw.how in (SAMPLE, OFTEN, TYPES_IN_TURN) or (draw.how == OTHER and are_meant(loaded, 1)):
        return inputs_of(loaded, 1 if draw.how == OTHER else 0)
    sample = inputs_of(loaded, 0)
    if draw.how == SPARSE_ELSEWHERE:
        return changed_inside(sample, partial(pytree.tree_map, _elsewhere))  # type: ignore[no-any-return]
    if is_wide(draw.how):
        return wide_inputs(sample, draw.how, draw.amount, draw.at)
    if draw.how in _BOUNDARIES:
        return _one_by_one(sample, _BOUNDARIES[draw.how])
    if draw.how in _SIZES:
        return _SIZES[draw.how](sample)
    if draw.how in _DRAWN:
        return changed_inside(sample, partial(_drawn, number=_DRAWN[draw.how]))  # type: ignore[no-any-return]
    change = {**_CHANGES, **_ALONE, **_NOT_NUMBERS}.get(draw.how) or partial(_BY_AMOUNT[draw.how], amount=draw.amount)
    return changed_inside(sample, partial(_with_fractions, change=change))  # type: ignore[no-any-return]


def usual_draws() -> Iterator[InputDraw]:
    """Sample and other inputs of the target, then values that a branch on data may tell apart from the sample's."""
    yield from map(InputDraw, (SAMPLE, *_DRAWN, *_CHANGES))


def boundary_draws(loaded: Loaded) -> Iterator[InputDraw]:
    """The ends of what integers and masks may be, and other sizes: most of what a loop over a length, or a rule for
    padding, gets wrong is wrong there. Other inputs in each call: so is what is kept of the first one. A value that is
    no number, and other precisions of the model. Only those that change the sample."""
    tensors = _tensors(inputs_of(loaded, 0))
    whole = [leaf for leaf in tensors if _is_whole(leaf)]
    known = [whole]
    for how, change in _BOUNDARIES.items():
        changed = [change(leaf) for leaf in whole]
        if not any(all(map(torch.equal, one, changed)) for one in known):
            known.append(changed)
            yield InputDraw(how)
    yield from (InputDraw(how) for how in _SIZES if _has_size(tensors, how))
    yield InputDraw(VALUES_IN_TURN)
    if _has_size(tensors, ONE_ROW):
        yield InputDraw(SIZES_IN_TURN)
    if any(leaf.dtype.is_floating_point for leaf in tensors):
        yield from (InputDraw(how) for how in _NOT_NUMBERS)
        yield from (InputDraw(SAMPLE, dtype=dtype) for dtype in (torch.float64, torch.bfloat16))
        yield InputDraw(ZEROS, dtype=torch.float64)  # where a special case may have a dtype of its own
        if not any(True for _ in getattr(loaded.eager(), "parameters", list)()):
            yield InputDraw("the sample times 100", dtype=torch.int64)


def wider_draws(loaded: Loaded) -> Iterator[list[InputDraw]]:
    """Of inputs that nobody may be meant to give, each list goes further with every draw: what follows one that the
    model refuses, it refuses, too."""
    sample = inputs_of(loaded, 0)
    if any(leaf.dtype.is_floating_point for leaf in _tensors(sample)):
        yield from ([InputDraw(how, dtype=torch.half)] for how in (SAMPLE, "the sample times 100"))
        yield [InputDraw(_SCALED, 1e3, dtype=torch.half)]
        if not any(True for _ in getattr(loaded.eager(), "parameters", list)()):
            yield [InputDraw(TYPES_IN_TURN)]
    for way in wide_ways(sample):
        yield [InputDraw(how, amount, at=at) for how, amount, at in way]
    if any(getattr(leaf, "layout", None) is torch.sparse_coo for leaf in pytree.tree_leaves(sample)):
        yield [InputDraw(SPARSE_ELSEWHERE)]
    yield [InputDraw(SAMPLE, on_meta=True)]


def draws_around(loaded: Loaded, numbers: Sequence[float]) -> Iterator[list[InputDraw]]:
    """Inputs around each number that an edit writes down, and as many calls: lists as for `wider_draws`."""
    sample = inputs_of(loaded, 0)
    for number in numbers:
        for way in ways_around(sample, number):
            yield [InputDraw(how, amount, at=at) for how, amount, at in way]
        if number == int(number) and number <= _MOST_CALLS:
            yield [InputDraw(OFTEN, calls) for calls in (number + 1,) if calls > _FEW_CALLS]


def training_draws(loaded: Loaded, *, always: bool = False) -> Iterator[InputDraw]:
    """For a model with layers that gather statistics where it is trained, which a branch may keep from them, or that
    leave some values out; `always`: for every module, whose own code may ask whether it is trained."""
    model = loaded.eager()
    parts = list(model.modules()) if isinstance(model, torch.nn.Module) else []
    learns = any(getattr(part, "track_running_stats", False) for part in parts)
    if learns or (always and parts) or any(isinstance(part, _LEAVE_OUT) for part in parts):
        for how in (SAMPLE, "the sample, negated"):
            yield InputDraw(how, in_training=True, is_random=not learns)


_LEAVE_OUT = (
    torch.nn.Dropout,
    torch.nn.Dropout1d,
    torch.nn.Dropout2d,
    torch.nn.Dropout3d,
    torch.nn.AlphaDropout,
    torch.nn.RReLU,
)


def single_draws(*, not_numbers: bool) -> Iterator[InputDraw]:
    """More of the kind, for models with a side of a branch that none of those takes. `not_numbers`: the model asks
    for them."""
    yield from map(InputDraw, _ALONE)
    if not_numbers:
        yield from (InputDraw(_FILLED, value) for value in (torch.nan, torch.inf))


def scales_of_draws() -> Iterator[Sequence[InputDraw]]:
    """Each is one change by growing amounts, so that between two of its draws that take other sides of branches there
    is a third that takes yet other ones, or the place where a condition turns."""
    for how, amounts in _AMOUNTS.items():
        yield [InputDraw(how, amount) for amount in amounts]


def between(first: InputDraw, second: InputDraw) -> InputDraw:
    """The draw in the middle of two of one scale."""
    return replace(first, amount=(first.amount + second.amount) / 2)


_DRAWN = {OTHER: 1, "draw 1 of other values": 2, "draw 2 of other values": 3}

_CHANGES: dict[str, Change] = {
    "the sample, negated": torch.neg,
    ZEROS: torch.zeros_like,
    "the sample times 100": lambda tensor: tensor * 100,
    # What is whole in the sample is not here, and what is rounded may be rounded another way: 0.7 * 10 is less than 7.
    "the sample times 1.1, in tenths": lambda tensor: (tensor * 11).round() / 10,
}


def _equal_rows(tensor: torch.Tensor) -> torch.Tensor:
    return tensor[:1].expand_as(tensor).clone() if tensor.dim() else tensor


def _peak(tensor: torch.Tensor) -> torch.Tensor:
    flat = torch.zeros_like(tensor).reshape(-1)
    flat[:1] = tensor.abs().sum() + 1
    return flat.reshape(tensor.shape)


_ALONE: dict[str, Change] = {
    "ones": torch.ones_like,
    "the sample without signs": torch.abs,
    "the sample without signs, negated": lambda tensor: -tensor.abs(),
    "the sample around its mean": lambda tensor: tensor - tensor.mean(),
    "the sample with equal rows": _equal_rows,
    "the sample, sorted": lambda tensor: tensor.sort(-1).values if tensor.dim() else tensor,
    "one peak": _peak,
}

_SCALED, _SHIFTED, _FILLED = "the sample times {}", "the sample and {}", "nothing but {}"
_BY_AMOUNT: dict[str, Callable[..., torch.Tensor]] = {
    _SCALED: lambda tensor, amount: tensor * amount,
    _SHIFTED: lambda tensor, amount: tensor + amount,
    _FILLED: lambda tensor, amount: torch.full_like(tensor, fill_value=amount),
}
_AMOUNTS = {
    _SHIFTED: (-1000.0, -100.0, -10.0, -3.0, -1.0, 0.0, 1.0, 3.0, 10.0, 100.0, 1000.0),
    _SCALED: (-1e4, -1e3, -10.0, -1.0, -0.1, 0.0, 0.01, 0.1, 0.5, 1.0, 2.0, 10.0, 1e3, 1e4, 1e6),
}


def _up_to(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.clamp(max=tensor.max() - 1) if tensor.dtype != torch.bool and tensor.max() > tensor.min() else tensor


def _moved(tensor: torch.Tensor, by: int) -> torch.Tensor:
    return tensor if _is_mask(tensor) else tensor + by


def _single(tensor: torch.Tensor) -> torch.Tensor:
    if not _is_mask(tensor):
        return tensor
    flat = torch.zeros_like(tensor).reshape(-1)
    flat[:1] = 1
    return flat.reshape(tensor.shape)


def _shorter(tensor: torch.Tensor) -> torch.Tensor:
    """The last column as padding is."""
    if tensor.dim() < 2 or tensor.shape[-1] < 2:  # noqa: PLR2004 - rows of more than one
        return tensor
    shorter = tensor.clone()
    shorter[..., -1] = 0
    return shorter


_BOUNDARIES: dict[str, Change] = {
    "integers below the largest": _up_to,
    "integers all 1": torch.ones_like,
    "integers all 0": torch.zeros_like,
    "integers all the largest": lambda tensor: tensor.amax().expand_as(tensor).clone(),
    "integers all the smallest": lambda tensor: tensor.amin().expand_as(tensor).clone(),
    "integers and 1": lambda tensor: _moved(tensor, 1),
    "integers and -1": lambda tensor: _moved(tensor, -1),
    "masks with a single 1": _single,
    "integers with a last column of 0": _shorter,
}


def _one_by_one(sample: Inputs, change: Change) -> Inputs:
    return changed_inside(  # type: ignore[no-any-return]
        sample, partial(pytree.tree_map, lambda leaf: change(leaf) if _is_whole(leaf) else leaf)
    )


def _resized(sample: Inputs, dim: int, change: Change) -> Inputs:
    """`change` of every tensor that is as long in the dim as the first one that has it."""
    size = next((leaf.shape[dim] for leaf in _tensors(sample) if _has_dim(leaf, dim)), None)

    def other(leaf: Any) -> Any:
        if not (_is_plain(leaf) and _has_dim(leaf, dim) and leaf.shape[dim] == size):
            return leaf
        return change(leaf.detach()).clone().requires_grad_(leaf.requires_grad)

    return changed_inside(sample, partial(pytree.tree_map, other))  # type: ignore[no-any-return]


def _has_dim(leaf: torch.Tensor, dim: int) -> bool:
    return bool(leaf.dim() > (dim if dim >= 0 else 1))  # the last dim is another one than the rows


def _has_size(tensors: Sequence[torch.Tensor], how: str) -> bool:
    """Is there what the draw changes?"""
    if how in (ONE_MORE, EMPTY):
        return any(leaf.dim() for leaf in tensors)
    dim = {ONE_ROW: 0, FEW: 1, SHORTER: 1, LONGER: 1, NARROWER: -1, WIDER: -1}[how]
    if dim < 0 and all(leaf.dim() <= 2 for leaf in tensors):  # noqa: PLR2004 - then it is SHORTER
        return False
    size = next((leaf.shape[dim] for leaf in tensors if _has_dim(leaf, dim)), 1)
    return bool(size > 1)


ONE_ROW, ONE_MORE, EMPTY = "the first row alone", "the first row once more", "no rows"
SHORTER, NARROWER = "the sample, one shorter in its second dim", "the sample, one shorter in its last dim"
FEW = "a single entry in the second dim"
LONGER, WIDER = "the sample, one longer in its second dim", "the sample, one longer in its last dim"
_SIZES: dict[str, Callable[[Inputs], Inputs]] = {
    ONE_ROW: partial(_resized, dim=0, change=lambda tensor: tensor[:1]),
    ONE_MORE: partial(_resized, dim=0, change=lambda tensor: torch.cat([tensor, tensor[:1]])),
    EMPTY: partial(_resized, dim=0, change=lambda tensor: tensor[:0]),
    SHORTER: partial(_resized, dim=1, change=lambda tensor: tensor[:, :-1]),
    FEW: partial(_resized, dim=1, change=lambda tensor: tensor[:, :1]),
    NARROWER: partial(_resized, dim=-1, change=lambda tensor: tensor[..., :-1]),
    LONGER: partial(_resized, dim=1, change=lambda tensor: torch.cat([tensor, tensor[:, :1]], 1)),
    WIDER: partial(_resized, dim=-1, change=lambda tensor: torch.cat([tensor, tensor[..., :1]], -1)),
}
VALUES_IN_TURN, SIZES_IN_TURN = "other inputs in each call", "other sizes in each call"
OFTEN, TYPES_IN_TURN = "the sample, {} times in a row", "another precision in each call"
_FEW_CALLS, _MOST_CALLS = 3, 64
_OTHER_SIZES = {
    **dict.fromkeys((ONE_ROW, ONE_MORE, SIZES_IN_TURN), "rows"),
    **{how: how for how in (EMPTY, FEW, SHORTER, NARROWER, LONGER, WIDER)},
}
_TURNS = {VALUES_IN_TURN: (SAMPLE, OTHER), SIZES_IN_TURN: (SAMPLE, ONE_ROW)}
# A size of 1 fits every operand; those that fit only what is made for them are these.
BESIDE_ONE = {ONE_ROW: (ONE_MORE,), SIZES_IN_TURN: (ONE_MORE,), FEW: (SHORTER, LONGER)}


def _with_first(tensor: torch.Tensor, value: float) -> torch.Tensor:
    flat = tensor.clone().reshape(-1)
    flat[:1] = value
    return flat.reshape(tensor.shape)


WITH_NAN = "the sample with a nan"
_NOT_NUMBERS: dict[str, Change] = {
    WITH_NAN: partial(_with_first, value=torch.nan),
    "the sample with an infinity": partial(_with_first, value=torch.inf),
}


def _with_fractions(inputs: Any, change: Change) -> Any:
    """Numbers with a fraction only: integers may be indexes, and have other values in the draws."""

    def other(leaf: Any) -> Any:
        if _is_plain(leaf) and leaf.dtype.is_floating_point and leaf.numel():
            return change(leaf.detach()).requires_grad_(leaf.requires_grad)
        return _by_its_numbers(leaf, change)

    return pytree.tree_map(other, inputs)


def _drawn(inputs: Any, number: int) -> Any:
    """Other values, of complex numbers and of what sparse tensors hold, too."""
    generator = torch.Generator().manual_seed(number)

    def other(numbers: torch.Tensor) -> torch.Tensor:
        spread = float(numbers.double().std()) if numbers.numel() > 1 else 1.0
        drawn = torch.randn(numbers.shape, generator=generator, dtype=torch.float64) * (spread or 1.0)
        return drawn.to(numbers.dtype)

    return pytree.tree_map(lambda leaf: _by_its_numbers(leaf, other), with_other_values(inputs, number))


def _by_its_numbers(leaf: Any, change: Change) -> Any:
    """Complex numbers by both parts, and a sparse tensor by the values at its places; all else as it is."""
    if not isinstance(leaf, torch.Tensor) or leaf.is_nested or leaf.is_quantized or not leaf.numel():
        return leaf
    if leaf.layout is torch.sparse_coo and leaf.dtype.is_floating_point:
        held = leaf.detach().coalesce()
        if not held.values().numel():
            return leaf
        now = torch.sparse_coo_tensor(held.indices(), change(held.values()), held.shape, check_invariants=True)
        return now.coalesce().requires_grad_(leaf.requires_grad)
    if leaf.layout is torch.sparse_csr and leaf.dtype.is_floating_point and leaf.values().numel():
        values = change(leaf.detach().values())
        return torch.sparse_csr_tensor(
            leaf.crow_indices(), leaf.col_indices(), values, leaf.shape, check_invariants=True
        )
    if leaf.layout is torch.strided and leaf.dtype.is_complex:
        parts = change(torch.view_as_real(leaf.detach().resolve_conj()).clone())
        is_pair = parts.dtype.is_floating_point and parts.dtype != torch.bfloat16
        return torch.view_as_complex(parts.contiguous()).requires_grad_(leaf.requires_grad) if is_pair else leaf
    return leaf


def _on_meta(inputs: Inputs) -> Inputs:
    return changed_inside(  # type: ignore[no-any-return]
        inputs, partial(pytree.tree_map, lambda leaf: leaf.to("meta") if isinstance(leaf, torch.Tensor) else leaf)
    )


SPARSE_ELSEWHERE = "sparse tensors with values at other places"


def _elsewhere(leaf: Any) -> Any:
    """The same values of a sparse tensor at other places, one of them at a place with several."""
    if not isinstance(leaf, torch.Tensor) or leaf.layout is not torch.sparse_coo or not leaf.numel():
        return leaf
    dense = leaf.detach().to_dense()
    order = torch.randperm(dense.numel(), generator=torch.Generator().manual_seed(1))
    return dense.reshape(-1)[order].reshape(dense.shape).to_sparse(leaf.sparse_dim()).coalesce()


def _tensors(sample: Inputs) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []

    def note(value: Any) -> Any:
        found.extend(leaf for leaf in pytree.tree_leaves(value) if _is_plain(leaf))
        return value

    changed_inside(sample, note)
    return found


def _is_plain(leaf: Any) -> bool:
    return (
        isinstance(leaf, torch.Tensor)
        and leaf.layout is torch.strided
        and not (leaf.is_nested or leaf.is_quantized or leaf.dtype.is_complex)
    )


def _is_whole(leaf: Any) -> bool:
    """Integers and truth values, and numbers that are nothing but 0 and 1, of which both occur."""
    return _is_plain(leaf) and bool(leaf.numel()) and (not leaf.dtype.is_floating_point or _is_mask(leaf))


def _is_mask(tensor: torch.Tensor) -> bool:
    if tensor.dtype == torch.bool:
        return True
    zeros, ones = tensor == 0, tensor == 1
    both = bool(zeros.any()) and bool(ones.any())
    return bool((zeros | ones).all()) and both
