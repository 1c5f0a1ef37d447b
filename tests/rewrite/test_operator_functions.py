"""The functions of `cond` and `while_loop` are mended where they stand, or both branches are computed."""

from __future__ import annotations

import pytest

from tests.rewrite.proposed import proposed

_NET = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        y = x + 1
        n = torch.zeros((), dtype=torch.long)
        k = x.sum().item()
        return {call}
"""


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t, (x,))", "lambda t: t * 2, lambda t: t.clone(), (x,)"),
        ("torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: y, (x,))", "lambda t: t * 2, lambda t: y.clone(), (x,)"),
        ("torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, x)", "lambda t: t * 2, lambda t: t - 1, (x,)"),
        ("torch.cond(x.sum() > 0, lambda t, s: t * s, lambda t, s: t, (x, 2.0))",
         "lambda t: t * 2.0, lambda t: t.clone(), (x,)"),
        ("torch.cond(x.sum() > 0, lambda t: (t * 2, 1.0), lambda t: (t - 1, 0.0), (x,))",
         "lambda t: (t * 2, torch.full((), 1.0)), lambda t: (t - 1, torch.full((), 0.0)), (x,)"),
        ("torch.cond(x.sum() > 0, lambda t: t * k, lambda t: t - 1, (x,))", "lambda t: t * x.sum(), lambda t: t - 1"),
        ("torch.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1.0, t), (n, x))",
         "lambda i, t: (i + 1, t.clone()), (n, x)"),
        ("torch.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 2), (0, x))", "(torch.full((), 0), x)"),
    ],
)  # fmt: skip
def test_all_that_is_wrong_with_a_call_is_mended(call: str, expected: str) -> None:
    assert expected in proposed(_NET.format(call=call), call, "operator-functions")[0]


def test_a_vector_selects_by_element() -> None:
    call = "torch.cond(x > 0, lambda t: t * 2, lambda t: t - 1, (x,))"
    text = _NET.replace("y = x + 1", "x = torch.ones(3)").format(call=call)
    assert "return torch.where(x > 0, x * 2, x - 1)" in proposed(text, call, "operator-functions")[0]


@pytest.mark.parametrize(
    "call",
    [
        "torch.cond(x.sum() > 0, lambda t: seen.append(t) or t * 2, lambda t: t - 1, (x,))",
        "torch.cond(x.sum() > 0, lambda t: t.add_(1) * t, lambda t: t - 1, (x,))",
        "torch.cond(x.sum() > 0, lambda t: {'a': t * 2}, lambda t: {'a': t - 1}, (x,))",
        "torch.cond(x.sum() > 0, lambda t: t.mean(), lambda t: t * 2, (x,))",
    ],
)
def test_branches_that_do_more_are_not_both_computed(call: str) -> None:
    assert not any("torch.where" in text for text in proposed(_NET.format(call=call), call, "operator-functions"))
