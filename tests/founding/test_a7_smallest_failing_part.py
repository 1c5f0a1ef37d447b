"""Torch refuses a model and names no line of it: simplify step by step until the cause shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

ENCODER = """\
import torch
from torch import nn


class Clip(nn.Module):
    def forward(self, x):
        x = x.clone()
        x.data.clamp_(-1, 1)
        return x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.clip = Clip()

    def forward(self, x):
        return self.clip(self.linear(x))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.block = Block()

    def forward(self, x):
        return self.block(self.first(x))


model = Encoder().eval()
example_args = (torch.randn(2, 4),)
"""


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> str:
    return say("trial", ENCODER)


@pytest.mark.clause("bisect by submodule, automatically")
def test_the_smallest_part_that_is_refused_by_itself_is_named(report: str) -> None:
    assert "refused by themselves: block.clip" in report
    assert "the submodule `block.clip` (Clip) is refused by itself with float32[2, 4]" in " ".join(report.split())


@pytest.mark.clause("until the cause shows")
def test_the_line_in_it_that_is_the_cause_is_named_once(report: str) -> None:
    assert report.count("[tensor-data-access]") == 1
    assert "net.py:8:9" in report


SCRIPTED = """\
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return x


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 4)
        self.gate = torch.jit.script(Gate())

    def forward(self, x):
        return self.gate(self.head(x)) + 1


model = Net()
example_args = (torch.randn(2, 4),)
"""


@pytest.mark.clause("with a scripted block the block is the cause")
def test_a_scripted_block_is_the_cause_where_it_is_called(say: Callable[..., str]) -> None:
    lines = say("trial", SCRIPTED, "--output-format", "concise").splitlines()
    (error,) = (line for line in lines if " error[" in line)
    assert error.startswith("net.py:16:21: error[torchscript-remnant]")
    assert "tried (line 19): the TorchScript module `Gate` is called here" in error
