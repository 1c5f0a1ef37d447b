"""The exported program is a functional ATen graph with a signature and ranges, which a person wants to see."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

SMOOTHER = """\
import torch
from torch import nn


class Smoother(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(4))
        self.register_buffer("level", torch.zeros(4))

    def forward(self, x, sink):
        y = x * self.gain + torch.tensor([1.0, 2.0, 3.0, 4.0])
        self.level.mul_(0.9)
        sink.copy_(y)
        return y.relu_()


model = Smoother().eval()
example_args = (torch.randn(3, 4), torch.zeros(3, 4))
rows = torch.export.Dim("rows", max=64)
dynamic_shapes = {"x": {0: rows}, "sink": {0: rows}}
"""


@pytest.fixture(scope="module")
def graph(say: Callable[..., str]) -> str:
    report = say("trial", SMOOTHER, "--mode", "non-strict", "--show", "graph")
    return " ".join(report.partition("exported program (non-strict)")[2].split())


@pytest.mark.clause("a trial can show the functional ATen graph, by source line")
def test_each_operator_stands_under_its_line(graph: str) -> None:
    assert re.search(r"net\.py:12 y = x \* self\.gain .*? = aten\.mul\.Tensor\(x, p_gain\)", graph)


@pytest.mark.clause("graph signature")
def test_what_goes_in_and_what_comes_out(graph: str) -> None:
    assert re.search(r"inputs x: float32\[s\d+, 4\] sink: float32\[s\d+, 4\]", graph)
    assert re.search(r"returns relu_?: float32\[s\d+, 4\]", graph)


@pytest.mark.clause("range constraints")
def test_the_range_of_a_size_that_is_free(graph: str) -> None:
    assert re.search(r"ranges s\d+: [012] to 64", graph)


@pytest.mark.clause("says what was functionalised")
def test_what_stands_for_an_operator_in_place(graph: str) -> None:
    assert "aten.mul_.Tensor becomes aten.mul.Tensor at net.py:13" in graph
    assert "aten.relu_.default becomes aten.relu.default at net.py:15" in graph


@pytest.mark.clause("lifted")
def test_what_became_an_input_of_the_graph(graph: str) -> None:
    assert "parameter gain: float32[4]" in graph
    assert "buffer level: float32[4]" in graph
    assert re.search(r"constant \S+: float32\[4\] at net\.py:12", graph)


@pytest.mark.clause("or mutated")
def test_what_a_call_leaves_changed(graph: str) -> None:
    assert "mutated buffer level at net.py:13 input sink at net.py:14" in graph


HEADS = """
import torch
from torch import nn


class Heads(nn.Module):
    def forward(self, batch):
        pixels = batch["pixels"] * 2
        return {"logits": pixels, "aux": (pixels.sum(), pixels.mean(0))}


model = Heads()
example_args = ({"pixels": torch.ones(3, 4)},)
"""


@pytest.mark.clause("outputs by their keys")
def test_what_a_dict_returns_is_called_by_its_keys(say: Callable[..., str]) -> None:
    graph = " ".join(say("trial", HEADS, "--mode", "non-strict", "--show", "graph").split())
    assert "returns ['logits'] mul: float32[3, 4] ['aux'][0] sum_1: float32[] ['aux'][1] mean: float32[4]" in graph
