"""`y[mask] = x[mask]` selects from the whole tensors, whatever dims the mask has, and is one graph."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.rewrite.proposed import proposed

NET = """
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def forward(self, x: Tensor, y: Tensor, rows: Tensor):
        y = y.clone()
        {body}
        return y
"""


def _result(text: str, *inputs: Any) -> Any:
    space: dict[str, Any] = {}
    exec(text, space)  # noqa: S102 - what the test wrote, and what was made of it
    return space["Net"]()(*inputs)


@pytest.mark.parametrize(
    ("body", "selects"),
    [
        # The mask is computed of one of the two, element by element: it has all dims.
        ("mask = x < y\n        y[mask] = x[mask]", "torch.where(mask, x, y)"),
        ("mask = ~(y.abs() > 1) & torch.isfinite(y)\n        y[mask] = x[mask] * 2", "torch.where(mask, x * 2, y)"),
        ("mask = y.isnan() | (y < -1)\n        y[mask] = x[mask].clamp(0)", "torch.where(mask, x.clamp(0), y)"),
        ("y[x == 0] = x[x == 0]", "torch.where(x == 0, x, y)"),
        # Of rows, or nobody knows of what: right for each.
        (
            "mask = (x > 0).any(-1)\n        y[mask] = x[mask]",
            "mask.reshape(*mask.shape, *[1] * (x.dim() - mask.dim()))",
        ),
        ("mask = x[..., 0] > 0\n        y[mask] = x[mask]", "mask.reshape("),
        ("mask = rows > 0\n        y[mask] = x[mask]", "mask.reshape("),
    ],
)
@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 4)])
def test_the_same_places_are_written(body: str, selects: str, shape: tuple[int, ...]) -> None:
    text = NET.format(body=body)
    (first, *_) = proposed(text, "x[mask]" if "x[mask]" in body else "x[x == 0]", "decide-in-data")
    assert selects in first
    torch.manual_seed(0)
    inputs = (torch.randn(shape), torch.randn(shape), torch.randn(4))
    assert torch.equal(_result(first, *inputs), _result(text, *inputs))
    space: dict[str, Any] = {}
    exec(first, space)  # noqa: S102 - what was made of the test's own
    compiled = torch.compile(space["Net"](), backend="eager", fullgraph=True)
    assert torch.equal(compiled(*inputs), _result(text, *inputs))
