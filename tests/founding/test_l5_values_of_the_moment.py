"""`id()`, the clock and random numbers in what a model computes: they are read once, while the model is traced."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

JITTER = """\
import random
import time

import torch
from torch import nn


class Jitter(nn.Module):
    def forward(self, x):
        x = x + id(x) % 1_000_003
        started = time.time()
        x = x * started
        return x * torch.tensor([random.random(), 2.0])


model = Jitter().eval()
example_args = (torch.randn(3, 2),)
"""
NUMBER = r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?"


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> dict[int, str]:
    """The line of each finding, and what it says."""
    lines = say("trial", JITTER, "--output-format", "concise").splitlines()
    places = [re.match(r"net\.py:(\d+):", line) for line in lines]
    return {int(place[1]): line for place, line in zip(places, lines, strict=True) if place and "error" in line}


@pytest.mark.clause("flag")
def test_each_is_flagged_without_a_trial(say: Callable[..., str]) -> None:
    flagged = say("check", JITTER, "--output-format", "concise")
    for place in ("10:17: error[object-identity]", "11:19: error[clock", "13:34: error[python-random]"):
        assert f"net.py:{place}" in flagged


@pytest.mark.clause("both literals and their line in the finding, not only in JSON")
def test_both_values_stand_in_the_finding(report: dict[int, str]) -> None:
    assert re.search(rf"traced once it is {NUMBER}, traced again {NUMBER}", report[10])
    assert re.search(rf"traced once it is {NUMBER}, traced again {NUMBER} \(line 12\)", report[11])
    assert re.search(rf"traced once it is \[{NUMBER}, 2\], traced again \[{NUMBER}, 2\]", report[13])


APART = """\
import os
import time

import torch
from torch import nn


class Ledger(nn.Module):
    def forward(self, x):
        salt = id(self) / 1e9
        tag = os.getpid()
        now = time.time()
        y = (x + tag) * salt
        return y, now, x - (salt + tag)


model = Ledger()
example_args = (torch.randn(3, 2),)
"""


@pytest.mark.clause("a trial shows the baked literal and its line")
def test_each_number_is_told_of_what_gave_it(say: Callable[..., str]) -> None:
    lines = say("trial", APART, "--output-format", "concise").splitlines()
    said = {int(found[1]): line for line in lines if (found := re.match(r"net\.py:(\d+):", line))}
    assert re.search(
        rf"\(line 13\).*traced once it is {NUMBER}, traced again {NUMBER} \(an argument of aten\.mul", said[10]
    )
    assert "aten.mul" not in said[11]
    assert re.search(rf"traced once it is \d{{10}}\.{NUMBER}, traced again \d{{10}}\.{NUMBER} \(line 14\)", said[12])
    either = [line for line in lines if "it comes from `id(self)` (line 10) or `os.getpid()` (line 11)" in line]
    assert len(either) == 1
    assert "net.py:14:" in either[0]


HASHED = """\
import torch
from torch import nn


class Named(nn.Module):
    def forward(self, x):
        return x * (hash("kitchen") % 1000)


model = Named()
example_args = (torch.randn(3, 2),)
"""


def test_a_hash_of_a_text_is_not_explained_by_the_order_of_sets(say: Callable[..., str]) -> None:
    found = " ".join(say("trial", HASHED).split())
    assert "`hash()` of a text is another number (PYTHONHASHSEED)" in found
    assert "sets" not in found


# `hash()` of text is another number in each process.

STATION = """\
import torch
from torch import nn


class Bucket(nn.Module):
    def __init__(self, station="north-7"):
        super().__init__()
        self.station = station
        self.table = nn.Parameter(torch.linspace(0, 1, 64).reshape(16, 4))

    def forward(self, x):
        slot = hash(self.station) % 16
        return x + self.table[slot]


model = Bucket().eval()
example_args = (torch.randn(2, 4),)
"""
SALTED = """\
import torch
from torch import nn


class Salted(nn.Module):
    def slot(self, key):
        return hash(key) % 16

    def forward(self, x):
        return x * (hash((x.dim(), "salt")) % 7 + 1) + self.slot(f"{x.dim()}d") + hash(3)


model = Salted().eval()
example_args = (torch.randn(2, 4),)
"""


@pytest.mark.clause("flag: `hash()` of text, in a helper and in a tuple too")
def test_the_hash_of_text_is_flagged(say: Callable[..., str]) -> None:
    assert "net.py:12:16: error[object-identity] `hash(self.station)`" in say(
        "check", STATION, "--output-format", "concise"
    )
    found = say("check", SALTED, "--output-format", "concise")
    assert re.findall(r"net\.py:(\d+):\d+: error\[object-identity\]", found) == ["7", "10"]


@pytest.mark.clause("a trial shows it in a process with other hashes")
def test_a_trial_confirms_the_hash_of_text_at_its_line(say: Callable[..., str]) -> None:
    (line,) = (one for one in say("trial", STATION, "--output-format", "concise").splitlines() if "error[" in one)
    assert line.startswith("net.py:12:16: error[object-identity]")
    assert "PYTHONHASHSEED" in line
