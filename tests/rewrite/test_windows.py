"""A window that begins where data says, and is as long as Python says, is chosen place by place, in one graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.rewrite.proposed import proposed

NET = """
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def forward(self, x: Tensor, at: Tensor, size: int = 2):
        n = {begin}
        m = n + size
        {body}
        return y
"""


def made(body: str, begin: str) -> list[str]:
    return list(proposed(NET.format(body=body, begin=begin), "x[", "numbers-stay-tensors"))


def result(text: str, *inputs: Any) -> Any:
    space: dict[str, Any] = {}
    exec(text, space)  # noqa: S102 - what the test wrote, and what was made of it
    return space["Net"]()(*inputs)


@pytest.mark.parametrize("begin", ["at[0]", "at[0].item()", "int(at[1])", "at.max()"])
@pytest.mark.parametrize(
    "body",
    [
        "y = x[n : n + 3]",
        "y = x[:, n : 3 + n] * 2",
        "y = x[..., n : n + size]",
        "y = x[..., n : n + 1, :]",
        "y = x[1, :, n:m]",
        "y = x[:, n:m, 1]",
        "y = x[None, n:m]",
    ],
)
def test_the_same_places_are_read(body: str, begin: str) -> None:
    x, at = torch.randn(5, 5, 5), torch.tensor([1, 2])
    first = made(body, begin)[0]
    assert "index_select(" in first
    space: dict[str, Any] = {}
    exec(first, space)  # noqa: S102 - what was made of the test's own
    compiled = torch.compile(space["Net"](), backend="eager", fullgraph=True)
    program = torch.export.export(space["Net"](), (x, at), strict=False).module()
    for place in (at, torch.tensor([0, 1])):
        before = result(NET.format(body=body, begin=begin), x, place)
        for one in (compiled, program, space["Net"]()):
            assert torch.equal(one(x, place), before)


@pytest.mark.parametrize(
    "body",
    [
        "y = x[n : 2 * n]",  # data says how long it is
        "y = x[n : n + at[1]]",
        "y = x[n : n + 2 : 2]",
        "n = n + 1\n        y = x[n:m]",  # the end was computed of another begin
    ],
)
def test_another_slice_is_no_window(body: str) -> None:
    assert not any("index_select" in text for text in made(body, "at[0]"))
