"""A fake kernel is written from what an operator gives: each size by what it follows from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from exportlint.trial.child.custom_operators.examined_operators import (
    disagreement,
    disagreements,
    fake_results,
    lacks_fake_kernel,
    registered,
)
from exportlint.trial.child.custom_operators.fake_kernel_code import fake_kernel_code
from exportlint.trial.child.custom_operators.operator_calls import OperatorCall, by_name, observed_calls
from exportlint.trial.child.stages.jit_trace import probing_inputs

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

LIBRARY = torch.library.Library("draft_tests", "DEF")
X = torch.arange(12, dtype=torch.float32).reshape(3, 4) - 5


def call_of(schema: str, kernel: Callable[..., Any], *args: Any) -> OperatorCall:
    name = schema.partition("(")[0]
    LIBRARY.define(schema)
    LIBRARY.impl(name, kernel, "CPU")
    return OperatorCall(getattr(torch.ops.draft_tests, name).default, args, {})


def grid(x: torch.Tensor, cells: list[int]) -> torch.Tensor:
    return x.new_zeros([*cells, x.shape[1]])


def next_power(x: torch.Tensor) -> torch.Tensor:
    return x.new_zeros(1 << (x.shape[0] - 1).bit_length())


@pytest.mark.parametrize(
    ("schema", "kernel", "args", "body"),
    [
        (
            "cut(Tensor x, int k) -> Tensor",
            lambda x, k: x[:, :k].clone(),
            (X, 2),
            "x.new_empty((x.shape[0], min(x.shape[1], k)))",
        ),
        ("twice(Tensor x, float by=2.0) -> Tensor", lambda x, by=2.0: x * by, (X,), "torch.empty_like(x)"),
        (
            "flat(Tensor x) -> Tensor",
            lambda x: x.reshape(-1).long(),
            (X,),
            "x.new_empty((x.numel(),), dtype=torch.int64)",
        ),
        (
            "times(Tensor x, Tensor w) -> Tensor",
            lambda x, w: x @ w,
            (X, torch.ones(4, 4)),
            "x.new_empty((x.shape[0], w.shape[1]))",
        ),
        (
            "halves(Tensor x) -> Tensor",
            lambda x: x[:, ::2].clone(),
            (X,),
            "x.new_empty((x.shape[0], (x.shape[1] + 1) // 2))",
        ),
        (
            "joined(Tensor[] xs) -> Tensor",
            torch.cat,
            ([X, X[:2]],),
            "xs[0].new_empty((sum(one.shape[0] for one in xs), xs[0].shape[1]))",
        ),
        ("cells(Tensor x, int[] cells) -> Tensor", grid, (X, [2, 5]), "x.new_empty((cells[0], cells[1], x.shape[1]))"),
        (
            "turned(Tensor x) -> Tensor",
            lambda x: (x * 2).t().contiguous().t(),
            (X,),
            "x.new_empty((x.shape[1], x.shape[0])).permute(1, 0)",
        ),
        (
            "found(Tensor x) -> Tensor",
            lambda x: x.flatten().nonzero(),
            (X,),
            "x.new_empty((size, 1), dtype=torch.int64)",
        ),
        ("power(Tensor x) -> Tensor", next_power, (X,), "x.new_empty((4,))"),
    ],
)
def test_each_size_is_what_it_follows_from(schema: str, kernel: Callable[..., Any], args: Any, body: str) -> None:
    call = call_of(schema, kernel, *args)
    assert lacks_fake_kernel(call.operator, by_name(call))
    calls = list(observed_calls(call))
    code = fake_kernel_code(call.operator, [seen for _, seen in calls])
    assert code.splitlines()[-1] == f"    return {body}"
    assert ("new_dynamic_size()" in code) == ("size," in body)
    assert ("is the sample's size: it follows from nothing that was tried" in code) == (kernel is next_power)
    registered(code)
    results = ((seen, fake_results(call.operator, arguments)) for arguments, seen in calls)
    wrong = [found for seen, fake in results if (found := disagreement(seen, fake))]
    assert (wrong != []) == (kernel is next_power)


def test_a_size_is_not_called_as_a_parameter_is() -> None:
    call = call_of("marked(Tensor size) -> Tensor", lambda size: size.flatten().nonzero()[:, 0].clone(), X)
    code = fake_kernel_code(call.operator, [seen for _, seen in observed_calls(call)])
    assert code.splitlines()[2:] == [
        "    size1 = torch.library.get_ctx().new_dynamic_size()",
        "    return size.new_empty((size1,), dtype=torch.int64)",
    ]


def odd_or_four(x: torch.Tensor) -> torch.Tensor:
    """A fake kernel that refuses most sizes, and says 4 of those that it takes."""
    if x.shape[0] % 4 == 0:
        raise ValueError("no")
    return x.new_empty(4) if x.shape[0] > 3 else x.new_empty(x.shape[0])


def test_a_fake_kernel_that_refuses_some_sizes_is_compared_on_the_others() -> None:
    call = call_of("rows(Tensor x) -> Tensor", lambda x: x[:, 0].clone(), X.repeat(2, 1)[:5])
    LIBRARY.impl("rows", odd_or_four, "Meta")
    (wrong, *_) = disagreements(call)
    assert (wrong.real, wrong.fake) == ("float32[5]", "float32[4]")
    call = OperatorCall(call.operator, (X[:2].repeat(2, 1),), {})
    assert [(one.real, one.fake, one.sample) for one in disagreements(call)][:1] == [
        ("float32[5]", "float32[4]", False)
    ]


def test_masks_are_tried_full_empty_and_between() -> None:
    masks = [inputs[0][0] for _, inputs in probing_inputs(((torch.tensor([True, False, False, False]),), {}))]
    assert {0, 2, 4} <= {int(mask.sum()) for mask in masks}
