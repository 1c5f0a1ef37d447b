"""A number that is read out of a tensor (`.item()`), or a size that depends on data, decides a shape or a branch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

POOL = """\
import torch
from torch import nn


class Pool(nn.Module):
    def forward(self, x, size):
        n = size.item()
        return nn.functional.adaptive_avg_pool2d(x, n)


model = Pool().eval()
example_args = (torch.randn(1, 2, 8, 8), torch.tensor(3))
"""
BOXES = """\
import torch
from torch import nn


class Boxes(nn.Module):
    def forward(self, x):
        kept = x[x[:, 0] > 0]
        if kept.numel() == 0:
            return x.new_zeros(4)
        return kept.mean(0)


model = Boxes().eval()
example_args = (torch.arange(24.0).reshape(6, 4) - 8,)
"""
TWO_WAYS = POOL.replace(
    "return nn.functional.adaptive_avg_pool2d(x, n)",
    "if n > 2:\n            x = x * 2\n        else:\n            x = x + 1\n        return x",
)


@pytest.fixture(scope="module")
def pool(say: Callable[..., str]) -> str:
    return " ".join(say("trial", POOL).split())


@pytest.mark.clause("flag")
def test_the_call_that_needs_the_number_is_flagged(say: Callable[..., str]) -> None:
    assert "net.py:8:16: error[operation-needs-size]" in say("check", POOL, "--output-format", "concise")


@pytest.mark.clause("`torch._check` bounds offered where they help (sizes, indexes), with the measured result")
def test_what_was_seen_to_help_is_offered(pool: str) -> None:
    assert "instead (verified): write `torch._check(n >= 0)`" in pool
    assert "behind `n = size.item()` (line 7), as this trial did: it then exports and agrees with eager" in pool


@pytest.mark.clause("of a size that depends on data too; what the program refuses from then on is said")
def test_a_size_is_bounded_at_the_line_that_makes_it(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", BOXES).split())
    assert "write `torch._check(kept.shape[0] > 0)` behind `kept = x[x[:, 0] > 0]` (line 7)" in report
    assert "refuses inputs for which that does not hold, for which eager returns at line 9" in report


@pytest.mark.clause("not where the number chooses between two ways, of which a bound would cut off one")
def test_a_branch_with_two_ways_is_not_cut(say: Callable[..., str]) -> None:
    assert "write `torch._check" not in say("trial", TWO_WAYS)


GRID = """\
import torch
from torch import nn


class Grid(nn.Module):
    def forward(self, cells, rows):
        n = rows.item()
        return cells.unflatten(0, (n, -1)).sum(1)


model = Grid()
example_args = (torch.randn(12, 3), torch.tensor(6))
"""


@pytest.mark.clause("where the line itself decides nothing, the bound is all the advice")
def test_an_operation_that_asks_is_not_told_to_compute_both_sides(say: Callable[..., str]) -> None:
    found = " ".join(say("trial", GRID).split())
    assert "an operation asks about a number here (`Ne(u0, 0)`)" in found
    assert "write `torch._check(n > 0)` behind `n = rows.item()` (line 7)" in found
    assert "both sides" not in found


DOSE = """\
import torch
from torch import nn


class Dose(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Linear(5, 5)

    def forward(self, patient, doses):
        count = int(doses.sum())
        if count > 3:
            return self.net(patient) / count
        return self.net(patient)


model = Dose().eval()
example_args = (torch.randn(2, 5), torch.tensor([2, 4]))
"""
SOIL = """\
import torch
from torch import nn


class Soil(nn.Module):
    def forward(self, probes):
        good = probes[probes[:, 0] > 0]
        if good.shape[0] < 2:
            raise ValueError("too few probes")
        return good.var(0)


model = Soil().eval()
example_args = (torch.arange(12.0).reshape(4, 3) - 2,)
"""


@pytest.mark.clause("not where the number chooses between two ways, of which a bound would cut off one")
def test_a_sample_that_returns_early_does_not_cut_off_the_rest(say: Callable[..., str]) -> None:
    report = say("trial", DOSE)
    assert "data-dependent-branch" in report
    assert "torch._check(count > 3)" not in report


@pytest.mark.clause("`torch._check` bounds offered where they help (sizes, indexes), with the measured result")
def test_what_the_code_refuses_itself_becomes_the_bound(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", SOIL).split())
    assert "(verified): write `torch._check(good.shape[0] >= 2)` behind `good = probes[probes[:, 0] > 0]`" in report
