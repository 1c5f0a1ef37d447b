"""Numbers that stand for a declared dim are taken from the tensor."""

import pytest

from tests.rewrite.proposed import proposed

_MODEL = """
import torch
from torch import nn
from torch.export import Dim


class Net(nn.Module):
    def __init__(self, batch=4):
        super().__init__()
        self.batch = batch

    def forward(self, x):
        {body}

    @staticmethod
    def inputs():
        return (torch.randn(4, 6, 3),)

    @staticmethod
    def dynamic_shapes():
        return {{"x": {{0: Dim("batch", min=2, max=16), 1: Dim("n", min=2, max=64)}}}}
"""


@pytest.mark.parametrize(
    ("body", "at", "after"),
    [
        ("return x.view(4, -1)", "x.view(4, -1)", "return x.view(x.shape[0], -1)"),
        ("return x.view(self.batch, -1)", "x.view(self.batch", "return x.view(x.shape[0], -1)"),
        ("b, n, c = x.shape\n        return x.reshape((4, n * c))", "x.resh", "return x.reshape((b, n * c))"),
        ("return x + torch.zeros(4, 1, 1)", "x + ", "return x + torch.zeros(x.shape[0], 1, 1)"),
        ("keep = torch.ones(6)\n        return x + keep[:, None]", "x + ", "keep = torch.ones(x.shape[1])"),
        ("return x + torch.ones(20)[:6, None]", "x + ", "return x + torch.ones(20)[:x.shape[1], None]"),
        (
            "return torch.cat([part * 2 for part in x.exp().chunk(2)])",
            "torch.cat",
            "return x.exp() * 2",
        ),
        (
            "parts = x.split(2)\n        out = []\n        for one in parts:\n            out.append(one * 2)\n        return torch.cat(out)",
            "torch.cat",
            "one = x\n        out.append(one * 2)",
        ),
        (
            (
                "y = torch.zeros_like(x)\n        for i in range(0, x.shape[0], 2):\n            end = i + 2\n"
                "            y[i:end] = x[i:end].exp() * x[i : i + 2]\n        return y"
            ),
            "range(",
            "y = torch.zeros_like(x)\n        y[:] = x.exp() * x\n        return y",
        ),
        (
            (
                "out = []\n        for i in range(0, len(x), 2):\n            end = min(i + 2, len(x))\n"
                "            out.append(x[i:end] * 2)\n        return torch.cat(out)"
            ),
            "range(",
            "out = []\n        out.append(x * 2)",
        ),
    ],
)
def test_a_number_that_stands_for_a_declared_dim_is_taken_from_the_tensor(body: str, at: str, after: str) -> None:
    found = proposed(_MODEL.format(body=body), at, "declared-dims")
    assert any(after in one for one in found), found


@pytest.mark.parametrize(
    "body", ["x = x * 2\n        x = x[:1]\n        return x.view(4, -1)", "return x.view(-1, 1)", "return x.sum(2)",
             "for i in range(0, len(x), 2):\n            y = x[i : i + 2] + i\n        return y",
             "for i in range(0, len(x) - 1, 2):\n            y = x[i : i + 2]\n        return y",
             "for i in range(0, len(x), 2):\n            y = x[i : i + 2]\n        return y",
             "for i in range(0, len(x), 2):\n            y = x[i : i + 3]\n        return y"]
)  # fmt: skip
def test_other_numbers_stay(body: str) -> None:
    assert proposed(_MODEL.format(body=body), "return", "declared-dims") == []


def test_what_is_declared_has_the_names_of_the_arguments() -> None:
    text = _MODEL.format(body="return x.view(4, -1)").replace('{"x": {0', '{"points": {0')
    assert any('{"x": {0' in one for one in proposed(text, "x.view(", "declared-dims"))
    assert all(
        '{"points": {0' in one
        for one in proposed(text.replace("(self, x)", "(self, x, y=1)"), "x.view(", "declared-dims")
    )
