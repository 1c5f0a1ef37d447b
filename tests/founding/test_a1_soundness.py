"""Valid inputs give correct outputs: one traced path must stand for all of them, not for the sample only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

MODELS = """\
import time

import torch
from torch import nn


class Mute(nn.Module):
    def forward(self, x):
        if not torch.compiler.is_exporting() and x.mean() < 0:
            return x * 0
        return x * 2

    @staticmethod
    def inputs():
        return (torch.linspace(-1, 2, 12).reshape(3, 4),)


class Meter(nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x + self.calls

    @staticmethod
    def inputs():
        return (torch.rand(3, 4),)


class Dated(nn.Module):
    def forward(self, x):
        return x + int(time.time_ns() % 1_000_003)

    @staticmethod
    def inputs():
        return (torch.rand(3, 4),)


class Halves(nn.Module):
    def forward(self, x):
        middle = len(x.tolist()) // 2
        return x[:middle].sum(0) - x[middle:].sum(0)

    @staticmethod
    def inputs():
        return (torch.rand(6, 4),)

    @staticmethod
    def dynamic_shapes():
        return {"x": {0: torch.export.Dim.AUTO}}


class Plain(nn.Module):
    def forward(self, x):
        return torch.where(x.mean() < 0, x * 0, x * 2)

    @staticmethod
    def inputs():
        return (torch.rand(3, 4),)
"""


@pytest.fixture(scope="module")
def reports(say: Callable[..., str]) -> dict[str, str]:
    """What was said of each model."""
    said = say("trial", MODELS, "--mode", "non-strict")
    parts = re.split(r"^target net\.py:", said, flags=re.MULTILINE)[1:]
    return {part.partition("\n")[0].strip(): " ".join(part.split()) for part in parts}


@pytest.mark.clause("the soundness stage: other values")
def test_values_that_take_another_branch_show_the_difference(reports: dict[str, str]) -> None:
    assert "gives other values than eager on other inputs than the sample" in reports["Mute"]
    assert "net.py:10:13" in reports["Mute"]


@pytest.mark.clause("other sizes")
def test_a_size_that_quietly_became_a_constant_is_found(reports: dict[str, str]) -> None:
    assert "dynamic-shapes differs" in reports["Halves"]
    assert "dynamic-shape-frozen" in reports["Halves"]


@pytest.mark.clause("second call")
def test_the_second_call_shows_state(reports: dict[str, str]) -> None:
    assert "the second call of the exported program differs from eager's" in reports["Meter"]
    assert "net.py:24:9" in reports["Meter"]


@pytest.mark.clause("trace twice")
def test_a_second_export_shows_a_value_of_the_moment(reports: dict[str, str]) -> None:
    assert "is read once, while exporting, and is a constant of the program" in reports["Dated"]
    assert re.search(r"soundness differs \S+ non-strict: traced once it is", reports["Dated"])
    assert re.search(r"net\.py:34:24 .* differs in non-strict .* confirmed", reports["Dated"])


@pytest.mark.clause("one traced path must stand for all valid inputs")
def test_a_model_that_keeps_both_ways_agrees(reports: dict[str, str]) -> None:
    assert "exports and agrees with eager in either mode" in reports["Plain"]
