"""Inputs far from the sample: every dim in other sizes, larger integers, other layouts, complex and sparse values."""

from __future__ import annotations

import torch

from exportlint.trial.child.execution.inputs.draws import (
    OFTEN,
    TYPES_IN_TURN,
    InputDraw,
    calls_of,
    draws_around,
    in_turn,
    made,
)
from exportlint.trial.child.execution.inputs.wider_draws import (
    FEWER,
    INTEGERS,
    LONG,
    MORE,
    MORE_IN_ONE,
    ways_around,
    wide_inputs,
    wide_ways,
)
from exportlint.trial.child.loading.loaded import Loaded
from exportlint.trial.protocol.target import Target, TargetKind


def _loaded(*args: torch.Tensor) -> Loaded:
    target = Target("net", TargetKind.FIXTURE, "net.py:Net")
    return Loaded(target, model=torch.nn.Identity, args=lambda: args, kwargs=dict, dynamic_shapes=lambda: None)


def _given(how: str, *args: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return made(_loaded(*args), InputDraw(how))[0]


def test_every_dim_of_every_tensor_gets_other_sizes() -> None:
    sample = ((torch.rand(2, 3, 8, 6), torch.rand(5, 3)), {})
    shapes = [
        tuple(tuple(one.shape) for one in wide_inputs(sample, how, amount, at)[0])
        for way in wide_ways(sample)
        for how, amount, at in way
    ]
    assert ((2, 3, 9, 6), (5, 3)) in shapes
    assert ((2, 3, 8, 6), (6, 3)) in shapes
    assert ((2, 6, 8, 6), (5, 6)) in shapes
    assert ((2, 4, 8, 6), (5, 3)) in shapes
    assert ((2, 3, 80, 6), (5, 3)) in shapes


def test_lengths_grow_with_the_dim_that_they_count() -> None:
    sample = ((torch.rand(2, 8, 4), torch.tensor([8, 3])), {})
    longer, lengths = wide_inputs(sample, LONG, 80.0, (-1, 8))[0]
    assert longer.shape == (2, 80, 4)
    assert lengths.tolist() == [80, 30]


def test_inputs_lie_around_a_number_that_is_written_down() -> None:
    ids, x = torch.arange(12).reshape(3, 4), torch.rand(3, 4)
    given = [wide_inputs(((ids, x), {}), *one)[0] for way in ways_around(((ids, x), {}), 40.0) for one in way]
    assert {int(one[0]) for one, *_ in given if one.max() == one.min() for one in [one.flatten()]} == {39, 40, 41}
    assert any(bool((one == 40).all()) for _, one in given)
    assert {one.shape for _, one in given} == {(3, 4), (40, 4), (41, 4), (3, 40), (3, 41)}
    assert any(0 in one.shape for way in ways_around(((x,), {}), 1.0) for each in way
               for one in wide_inputs(((x,), {}), *each)[0])  # fmt: skip
    often = [one for way in draws_around(_loaded(x), [8.0, 512.0]) for one in way if one.how == OFTEN]
    assert [(one.in_words, len(in_turn(one, calls_of(one, 3)))) for one in often] == [
        ("the sample, 9 times in a row", 9)
    ]


def test_lists_get_other_lengths() -> None:
    maps, scores = [torch.rand(2), torch.rand(3)], [torch.rand(2), torch.rand(3)]
    sample = ((maps, {"scores": scores}, (torch.rand(1),)), {})
    lengths = {
        how: (len(given[0]), len(given[1]["scores"]), len(given[2]))
        for way in wide_ways(sample)
        for how, amount, at in way
        if "list" in how
        for given in [wide_inputs(sample, how, amount, at)[0]]
    }
    assert lengths == {MORE: (3, 3, 1), FEWER: (1, 1, 1), MORE_IN_ONE: (3, 2, 1)}


def test_precisions_change_from_call_to_call() -> None:
    draws = in_turn(InputDraw(TYPES_IN_TURN), 3)
    assert [made(_loaded(torch.rand(2)), one)[0][0].dtype for one in draws] == [
        torch.float32, torch.bfloat16, torch.float32,
    ]  # fmt: skip


def test_integers_pass_what_floats_and_int32_hold() -> None:
    amounts = [amount for way in wide_ways(((torch.arange(12),), {})) for how, amount, _ in way if how == INTEGERS]
    (last,) = wide_inputs(((torch.arange(12),), {}), INTEGERS, amounts[-1], (0, 0))[0]
    total = int(last.sum())
    assert int(last.float().sum()) != total
    assert int(last.max()) * 1000 > torch.iinfo(torch.int32).max


def test_equal_values_lie_otherwise_in_memory() -> None:
    x = torch.rand(2, 3)
    (turned,) = _given("the sample, transposed in memory", x)
    assert torch.equal(turned, x)
    assert not turned.is_contiguous()


def test_complex_numbers_are_drawn() -> None:
    z = torch.full((2, 4), 3 + 1j)
    for how in ("the other inputs", "zeros", "the sample, negated", "draw 1 of other values"):
        (other,) = _given(how, z)
        assert other.dtype == z.dtype
        assert not torch.equal(other, z)


def test_sparse_tensors_get_other_values_and_places() -> None:
    adjacent = torch.eye(3).to_sparse()
    (values,) = _given("the sample times 100", adjacent)
    (places,) = _given("sparse tensors with values at other places", adjacent)
    assert values.is_sparse
    assert torch.equal(values.to_dense(), torch.eye(3) * 100)
    assert not torch.equal(places.to_dense(), torch.eye(3))
