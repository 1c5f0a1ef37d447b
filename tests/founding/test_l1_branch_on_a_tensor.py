"""A Python `if` asks for a tensor's value."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

GATE = """\
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.coarse = nn.Linear(4, 4)
        self.fine = nn.Linear(4, 4)

    def forward(self, x):
        if x.abs().mean() > 0.5:
            return self.coarse(x)
        return self.fine(x)


model = Gate()
example_args = (torch.randn(2, 4),)
"""
WITH_COND = """\
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.coarse = nn.Linear(4, 4)
        self.fine = nn.Linear(4, 4)

    def forward(self, x):
        y = torch.cond(x.abs().mean() > 0.5, self.coarse, self.fine, (x,))
        return torch.where(x.mean() > 0, y, -y)


model = Gate()
example_args = (torch.randn(2, 4),)
"""


@pytest.fixture(scope="module")
def found(say: Callable[..., str]) -> str:
    return " ".join(say("check", GATE, "--mode", "both").split())


@pytest.mark.clause("flag")
def test_the_test_is_an_error_in_both_modes(found: str) -> None:
    assert "error[data-dependent-branch] `x.abs().mean() > 0.5`" in found
    assert "refuses to export it in either mode" in found
    assert "net.py:12:12" in found


@pytest.mark.clause("link")
def test_the_case_of_exportdb_and_the_graph_break_are_linked(found: str) -> None:
    assert "exportdb cond_predicate https://pytorch.org/docs/main/generated/exportdb/index.html#cond-predicate" in found
    assert "graph-break GB0170" in found


@pytest.mark.clause("offer `torch.cond` or `torch.where`")
def test_both_ways_out_are_offered_and_nothing_is_said_of_them(found: str, say: Callable[..., str]) -> None:
    assert "select with `torch.where`, or keep both in the program with `torch.cond`" in found
    assert "Found nothing" in say("check", WITH_COND)


@pytest.mark.slow
def test_what_is_offered_exports_and_agrees(say: Callable[..., str]) -> None:
    assert "agrees with eager" in say("trial", WITH_COND)


@pytest.mark.slow
@pytest.mark.clause("try it")
def test_the_selection_is_tried_on_both_sides(say: Callable[..., str]) -> None:
    tried = say("fix", GATE, "--mode", "both")
    assert "+        return torch.where(x.abs().mean() > 0.5, self.coarse(x), self.fine(x))" in tried
    assert "[data-dependent-branch] compute both sides and select (tried on both sides)" in tried
    ladder = [line.split()[1:] for line in tried.splitlines() if line.startswith("  export-")]
    assert ladder == [["refused", "passed"], ["refused", "passed"]]


TRIAGE = """\
import torch
from torch import nn


class Triage(nn.Module):
    def forward(self, vitals, age):
        if vitals.sum() > 10:
            level = "high"
        else:
            level = "low"
        weight = 2.0 if age.float().mean() > 60 else 1.0
        if vitals.min() < 0:
            vitals = vitals.clamp(min=0)
        return vitals * weight, level


model = Triage()
example_args = (torch.rand(5), torch.tensor([30, 50]))
"""


@pytest.mark.slow
@pytest.mark.clause("several decisions in one forward are mended one by one, those that can be")
def test_what_can_be_mended_is_beside_a_decision_that_cannot(say: Callable[..., str]) -> None:
    said = say("fix", TRIAGE)
    assert "+        weight = torch.where(age.float().mean() > 60, 2.0, 1.0)\n" in said
    assert "+        vitals = torch.where(vitals.min() < 0, vitals.clamp(min=0), vitals)\n" in said
    assert "net.py:7: error[data-dependent-branch]" in said
    assert '-            level = "high"' not in said
