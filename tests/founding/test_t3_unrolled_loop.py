"""A recurrent loop over the time dim: an export unrolls it to the sample's length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

DECODER = """\
import torch
from torch import nn
from torch.export import Dim


class Smoother(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(6, 3)

    def forward(self, series):
        level = series.new_zeros(series.shape[0], 3)
        for moment in range(series.shape[1]):
            level = torch.tanh(self.mix(torch.cat([level, series[:, moment]], 1)))
        return level


model = Smoother()
example_args = (torch.rand(2, 4, 3),)
"""
BATCH_ONLY = DECODER + 'dynamic_shapes = {"series": {0: Dim("batch")}}\n'


@pytest.mark.clause("says the loop is unrolled to the sample's length (a size frozen by tracing)")
def test_the_loop_is_found_without_running_it(say: Callable[..., str]) -> None:
    report = say("check", DECODER)
    assert "recurrent-loop-unrolled" in report
    assert "is unrolled to the sample's length" in " ".join(report.split())


@pytest.mark.clause("offers `scan` where the version has it")
def test_scan_is_offered_by_the_name_that_it_has(say: Callable[..., str]) -> None:
    assert "torch._higher_order_ops.scan.scan" in say("check", DECODER)


@pytest.mark.slow
@pytest.mark.clause("is not cleared by a trial in which only one length ran")
def test_another_batch_clears_nothing(say: Callable[..., str]) -> None:
    report = say("trial", BATCH_ONLY, "--show-cleared")
    assert "agrees for batch" in report
    assert "recurrent-loop-unrolled" in report
    assert "cleared" not in report
