"""What a `try` guards, without it."""

import pytest
from proposed import proposed

HEAD = """
import torch
from torch import Tensor, nn

class Net(nn.Module):
    def forward(self, x: Tensor):
"""
BROAD = """
        try:
            if x.sum() > 0:
                return x * 2
        except Exception:
            pass
        return x - 1
"""
ASSERTED = """
        try:
            assert (x > 0).all()
            return x.sqrt()
        except AssertionError:
            return x * 0
"""
LAYOUT = """
        try:
            return x.view(-1)
        except RuntimeError:
            return x.reshape(-1)
"""
NUMBER = """
        try:
            k = int(x[0])
        except ValueError:
            k = 0
        return x * k
"""
RAISED_AGAIN = """
        try:
            return x.view(-1)
        except IndexError:
            raise
"""


@pytest.mark.parametrize(
    ("body", "written"),
    [
        (BROAD, "return torch.where(x.sum() > 0, x * 2, x - 1)"),
        (ASSERTED, "return torch.where((x > 0).all(), x.sqrt(), x * 0)"),
        (LAYOUT, "return x.reshape(-1)"),
        (NUMBER, "k = torch.where(x[0].isfinite(), x[0].long(), 0)"),
    ],
)
def test_what_is_written_for_a_try(body, written):
    first, *_ = proposed(HEAD + body.lstrip("\n"), "try", "untried")
    assert written in first
    assert "try" not in first


def test_a_handler_that_raises_is_left_alone():
    assert proposed(HEAD + RAISED_AGAIN.lstrip("\n"), "try", "untried") == []
