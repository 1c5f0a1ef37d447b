"""What is the same for the targets that keep no state and take their inputs from NumPy."""

from __future__ import annotations

import pytest
import small_models
import torch
from live_models import given_by_repro, line
from torch import nn
from torch.export import Dim

pytestmark = [
    pytest.mark.slow,
    pytest.mark.parametrize("target", ["onnxruntime", "openvino", "tvm"]),
]


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 4)

    def forward(self, x):
        return self.linear(x).softmax(-1).reshape(x.shape[0] * x.shape[1], 4)


def test_structures_keywords_and_all_dtypes_arrive_as_in_eager(lowered, target):
    proved = lowered(target, *small_models.structures())
    assert (proved.status, proved.observations) == ("passed", ())
    assert proved.data["bytes"] > 160, "the weights count"
    assert proved.detail.endswith("sample twice, other values")


def test_dynamic_sizes_are_run(lowered, target):
    shapes = ({0: Dim("batch", min=2, max=8), 1: Dim("length", min=2, max=16)},)
    proved = lowered(target, Rows(), (torch.randn(2, 5, 8),), None, shapes)
    assert proved.status == "passed"
    assert "batch=" in proved.detail
    assert "length=" in proved.detail


@pytest.mark.parametrize(
    ("model", "args", "check", "text"),
    [
        (small_models.Counter, (torch.ones(2),), "state", "self.count.add_(1)"),
        (small_models.WritesInput, (torch.ones(2), torch.ones(2)), "input-effect", "y.mul_(2)"),
        (
            small_models.Cache,
            (torch.ones(2), torch.tensor(1)),
            "buffer",
            "self.kept.copy_(torch.where(rows == first, x, self.kept))",
        ),
    ],
)
def test_a_write_that_is_lost_shows_at_its_line(lowered, target, model, args, check, text):
    proved = lowered(target, model(), args)
    assert proved.status == "differs"
    assert (proved.observations[0].check, line(proved)) == (check, text)


def test_the_repro_gives_what_eager_gives(target):
    model, args = small_models.Encoder(), (torch.randn(2, 5, 8),)
    torch.testing.assert_close(given_by_repro(target, model, args), model.eval()(*args), rtol=1e-4, atol=1e-5)
