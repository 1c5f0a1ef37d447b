"""Valid inputs give correct outputs: one traced path must stand for all of them, not for the sample only."""

from __future__ import annotations

import json
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


# A clock and draws, and what they would hide: two states of every kind, a branch that only eager takes; where torch
# exports, and where it refuses a branch.
MOMENTS = """\
import datetime
import os
import random
import time
from time import monotonic

import numpy as np
import torch
from torch import nn


class Pump(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.strokes = 0
        self.last = torch.zeros(4)

    def forward(self, x):
        y = self.lin(x) + time.time() % 60
        y = y * random.random()
        self.strokes += 1
        y = y + self.strokes + self.last
        self.last = y.mean(0).detach()
        return y

    @staticmethod
    def inputs():
        return (torch.rand(3, 4),)


def jitter():
    return float(np.random.rand())


class Budget(nn.Module):
    def __init__(self):
        super().__init__()
        self.spent = []
        self.by_slot = {"n": 0}

    def forward(self, bid):
        self.spent.append(1)
        self.by_slot["n"] += 2
        return bid / len(self.spent) - self.by_slot["n"]


class AdServer(nn.Module):
    def __init__(self):
        super().__init__()
        self.rank = nn.Linear(5, 2)
        self.budget = Budget()

    def forward(self, features):
        age = time.perf_counter()
        scores = self.rank(features) * (age % 10)
        scores = scores + jitter()
        return {"bid": self.budget(scores), "raw": scores}

    @staticmethod
    def inputs():
        return (torch.rand(6, 5),)


class Agent(nn.Module):
    steps = 0

    def __init__(self):
        super().__init__()
        self.policy = nn.Linear(6, 3)
        self.best = 0.0

    def forward(self, obs):
        logits = self.policy(obs) + datetime.datetime.now().second
        logits = logits * (os.getpid() + 1)
        Agent.steps += 1
        logits = logits / Agent.steps
        self.best = max(self.best, 0.1) + 0.5
        return logits + self.best

    @staticmethod
    def inputs():
        return (torch.rand(2, 6),)


class Thermostat(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 4)
        self.started = monotonic()

    def forward(self, x):
        if not torch.compiler.is_exporting() and x.mean() < 0:
            return x * 0
        return self.lin(x) + (monotonic() - self.started)

    @staticmethod
    def inputs():
        return (torch.linspace(-1, 2, 12).reshape(3, 4),)


class Gauge(nn.Module):
    def __init__(self):
        super().__init__()
        self.reads = 0
        self.last = torch.zeros(4)

    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        self.reads += 1
        x = x + self.reads + self.last + time.time() % 60
        self.last = x.mean(0)
        return x

    @staticmethod
    def inputs():
        return (torch.rand(3, 4),)
"""
LINE_OF = {text.strip(): number for number, text in enumerate(MOMENTS.splitlines(), 1)}
# By model, the lines that the trial itself has to show.
SHOWN = {
    "Pump": (
        "y = self.lin(x) + time.time() % 60",
        "y = y * random.random()",
        "self.strokes += 1",
        "self.last = y.mean(0).detach()",
    ),
    "AdServer": (
        "age = time.perf_counter()",
        "return float(np.random.rand())",
        "self.spent.append(1)",
        'self.by_slot["n"] += 2',
    ),
    "Agent": (
        "logits = self.policy(obs) + datetime.datetime.now().second",
        "logits = logits * (os.getpid() + 1)",
        "Agent.steps += 1",
        "self.best = max(self.best, 0.1) + 0.5",
    ),
    "Thermostat": ("return self.lin(x) + (monotonic() - self.started)", "return x * 0"),
    "Gauge": (
        "if x.sum() > 0:",
        "x = x + self.reads + self.last + time.time() % 60",
        "self.reads += 1",
        "self.last = x.mean(0)",
    ),
}


@pytest.fixture(scope="module")
def shown(say: Callable[..., str]) -> dict[str, set[int]]:
    """The lines that the trial of each model showed to be wrong."""
    found = json.loads(say("trial", MOMENTS, "--mode", "non-strict", "--output-format", "json"))["findings"]
    lines: dict[str, set[int]] = {}
    for one in found:
        if one["evidence"] in ("confirmed", "discovered") and one["severity"] == "error":
            lines.setdefault(one["target"].rpartition(":")[2], set()).add(one["line"])
    return lines


@pytest.mark.clause("the soundness stage: what one cause would hide")
@pytest.mark.parametrize("model", SHOWN)
def test_a_value_of_the_moment_hides_nothing_else(model: str, shown: dict[str, set[int]]) -> None:
    assert shown[model] == {LINE_OF[text] for text in SHOWN[model]}
