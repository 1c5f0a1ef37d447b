"""What is demanded of sizes: which sizes keep it, what says nothing new, and how it reads."""

from __future__ import annotations

from typing import Any

import pytest
import sympy
from torch.export import Dim
from torch.utils._sympy.functions import FloorDiv, Mod

from exportlint.trial.child.dynamic_shapes.conditions import Condition, Sizes, holds, necessary, sentence, sizes_around
from exportlint.trial.child.dynamic_shapes.free_sizes import combinations, free_sizes
from exportlint.trial.child.dynamic_shapes.input_tensors import declared_code

B, L, M = sympy.symbols("s0 s1 s2", integer=True, positive=True)
CALLED = {B: "batch", L: "length", M: "other"}
ANY = Sizes(2, None)


def conditions(*exprs: Any) -> list[Condition]:
    return [Condition(expr, ()) for expr in exprs]


@pytest.mark.parametrize(
    ("demand", "sample", "expected"),
    [
        (lambda _size: True, 8, Sizes(2, None)),
        (lambda size: size <= 64, 8, Sizes(2, 64)),
        (lambda size: 5 <= size <= 5000, 8, Sizes(5, 5000)),
        (lambda size: size % 4 == 0, 8, Sizes(4, None, 4)),
        (lambda size: size % 4 == 0 and size >= 8, 400, Sizes(8, None, 4)),
        (lambda size: size % 2 == 1, 7, Sizes(3, None, 2)),
        (lambda size: size % 4 in (0, 3), 40, Sizes(4, None, 4)),
        (lambda size: size != 7, 6, Sizes(2, 6)),
        (lambda size: size != 7, 8, Sizes(8, None)),
        (lambda size: size // 4 == 8, 32, Sizes(32, 35)),
        (lambda size: size == 8, 8, Sizes(8, 8)),
    ],
)
def test_the_sizes_around_a_sample(demand: Any, sample: int, expected: Sizes) -> None:
    assert sizes_around(sample, demand, ANY) == expected


def test_a_condition_that_others_imply_is_left_out() -> None:
    known = conditions(B * L <= 1000, B * L <= 2000, sympy.Ne(B * L, 4000), B + L <= 1002)
    kept = necessary(known, {B: 4, L: 8}, {B: ANY, L: ANY})
    assert [one.expr for one in kept] == [B * L <= 1000]


@pytest.mark.parametrize(
    ("demands", "samples", "free"),
    [
        ((B * L < 4000,), {B: 4, L: 10}, {B, L}),
        ((B + L <= 100,), {B: 4, L: 10}, {B, L}),
        ((B <= L,), {B: 4, L: 10}, {B, L}),
        ((sympy.Eq(Mod(B * L, 4), 0),), {B: 3, L: 8}, {B, L}),
        ((sympy.Ne(B, L),), {B: 3, L: 8}, {B, L}),
        ((sympy.Eq(FloorDiv(B, 4) * FloorDiv(L, 4), 6),), {B: 8, L: 12}, set()),
        ((sympy.Eq(FloorDiv(B, 2), L),), {B: 16, L: 8}, set()),
        ((sympy.Eq(FloorDiv(B, 2), L), M < 70), {B: 16, L: 8, M: 9}, {M}),
    ],
)
def test_every_combination_of_free_sizes_keeps_the_conditions(
    demands: Any, samples: dict[Any, int], free: set[Any]
) -> None:
    found = free_sizes(conditions(*demands), samples, dict.fromkeys(samples, ANY))
    assert set(found.sizes) == free
    assert set(found.fixed) == set(samples) - free
    for pick in combinations(list(free), found.sizes):
        assert all(holds(demand, {**samples, **pick}) for demand in demands), pick
    assert all(samples[root] in sizes and sizes.count > 1 for root, sizes in found.sizes.items())


def test_wanted_sizes_are_within_where_the_conditions_allow_it() -> None:
    found = free_sizes(conditions(B * L < 4000), {B: 4, L: 10}, {B: ANY, L: ANY}, others=[{B: 4, L: 900}])
    assert 900 in found.sizes[L]


@pytest.mark.parametrize(
    ("demand", "text"),
    [
        (B * L < 4000, "batch × length must be less than 4000"),
        (B + L <= 100, "batch + length must be at most 100"),
        (sympy.Eq(Mod(B * L, 4), 0), "batch × length must be a multiple of 4"),
        (
            sympy.Eq(FloorDiv(B, 2) * FloorDiv(L, 4), 256),
            "batch/2 × length/4 must be 256 (quotients are rounded down)",
        ),
        (sympy.Ne(L - 1, 1), "length - 1 must not be 1"),
        (sympy.Or(B > 3, sympy.Eq(L, 1)), "batch must be more than 3 or length must be 1"),
    ],
)
def test_a_condition_is_a_sentence(demand: Any, text: str) -> None:
    assert set(sentence(demand, CALLED).split(" or ")) == set(text.split(" or "))


def test_a_declaration_is_written_with_its_ranges() -> None:
    length = Dim("length", min=2)
    code = declared_code({"x": {0: Dim("batch", max=8), 1: length}, "y": [None, {1: 2 * length, 2: Dim.AUTO}]})
    assert code == (
        'from torch.export import Dim\n\nbatch = Dim("batch", max=8)\nlength = Dim("length", min=2)\n'
        "dynamic_shapes = {'x': {0: batch, 1: length}, 'y': [None, {1: 2*length, 2: Dim.AUTO}]}"
    )
