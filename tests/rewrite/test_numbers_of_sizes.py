"""What Python's `math` makes of a size is computed from the size as a tensor."""

from typing import Any

import pytest

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

_NET = """
import math
import torch
from torch import nn


class Net(nn.Module):
    def forward(self, x: torch.Tensor):
        {body}
"""


@pytest.mark.parametrize(
    ("body", "at", "after"),
    [
        ("return x * math.log(float(x.shape[1])) / 3", "float(", "torch.log(torch.tensor(x.shape[1], dtype=torch."),
        ("scale = math.log(x.shape[1], 2)\n        return x * scale", "math.log(", ") / math.log(2)"),
        ("scale = max(1.0, math.log(x.shape[1]))\n        return x * scale", "math.log(", "torch.clamp("),
        ("k = float(len(x))\n        s = math.sqrt(k) - 1\n        return x * s", "float(", "s = torch.sqrt(k) - 1"),
        ("return x * math.exp(-len(x) / 3)", "math.exp(", "torch.exp(-torch.tensor(x.shape[0], dtype="),
        ("return x * 10 ** -math.log10(x.size(0))", "math.log10(", "10 ** (-torch.log10(torch.tensor("),
    ],
)
def test_it_is_a_tensor_from_the_size_on(body: str, at: str, after: str) -> None:
    text = _NET.format(body=body)
    (new,) = (one for one in proposed(text, at, "numbers-stay-tensors") if after in one)
    for x in (torch.randn(2, 3), torch.randn(7, 8)):
        results = []
        for one in (text, new):
            names: dict[str, Any] = {}
            exec(one, names)  # noqa: S102 - made above
            results.append(names["Net"]()(x))
        torch.testing.assert_close(*results)
        assert results[0].dtype == results[1].dtype
