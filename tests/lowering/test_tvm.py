"""TVM for real: what comes through, what its frontend refuses, and what changes silently."""

from __future__ import annotations

import pytest
import small_models
import torch
from live_models import line, made, printed_by_script
from torch import nn
from torch.export import Dim

pytestmark = pytest.mark.slow


class Transform(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.fft.rfft(y).abs()


class Double(nn.Module):
    """A converter that mixes dtypes; the first addmm is not the one that fails."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 4).double()

    def forward(self, x):
        y = self.first(x)
        return self.second(y.double())


class TimesSize(nn.Module):
    def forward(self, x):
        return x * x.shape[0]


class Largest(nn.Module):
    """Sorting is in a library beside the runtime, not in what TVM generates."""

    def forward(self, x):
        values, indices = x.topk(2)
        return {"values": values, "indices": indices}


class Grid(nn.Module):
    def forward(self, x, grid):
        return nn.functional.grid_sample(x, grid, align_corners=False)


class Chooses(nn.Module):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))


@pytest.mark.parametrize(("model", "args"), [(Largest, (torch.randn(5),)), (Chooses, (torch.ones(3),))])
def test_sorting_and_branches_run(lowered, model, args):
    assert lowered("tvm", model(), args).status == "passed"


def test_a_refusal_stands_at_its_line_with_a_rewrite(lowered):
    for model, args, shapes, words, text in REFUSED:
        proved = lowered("tvm", model(), args, None, shapes)
        assert proved.status == "refused", model
        assert words in proved.detail
        assert proved.observations[0].details["suggestion"]
        assert line(proved) == text


REFUSED = [
    (Transform, (torch.randn(8),), None, "no converter for aten._fft_r2c.default", "return torch.fft.rfft(y).abs()"),
    (Double, (torch.randn(2, 4),), None, "addmm.default mixes float64 and float32", "return self.second(y.double())"),
    (
        TimesSize,
        (torch.randn(3, 2),),
        ({0: Dim("batch", min=2, max=8)},),
        "aten.mul.Tensor mixes float32 and int64",
        "return x * x.shape[0]",
    ),
    (small_models.ReturnsNumber, (torch.ones(2),), None, "the model returns another value", "y = x + 1"),
    (small_models.Complex, (torch.ones(2, dtype=torch.complex64),), None, "no complex", "return x * (1 + 2j)"),
    (small_models.TakesNumber, (torch.ones(2), 3), None, "of the arguments factor are none", None),
    (small_models.Picks, (torch.randn(6),), None, "aten.index.Tensor", "return x[x > 0]"),
]


def test_an_operator_that_computes_something_else_shows_at_its_line(lowered):
    proved = lowered("tvm", Grid(), (torch.randn(1, 2, 6, 6), torch.rand(1, 4, 4, 2)))
    assert proved.status == "differs"
    text = "return nn.functional.grid_sample(x, grid, align_corners=False)"
    assert (proved.observations[0].check, line(proved)) == ("output", text)


def test_running_statistics_that_nothing_reads_are_not_missed(lowered):
    assert lowered("tvm", small_models.InTraining(), (torch.randn(4, 3) + 2,)).status == "passed"


def test_the_dry_run_knows_what_is_missing():
    program = torch.export.export(Transform(), (torch.randn(8),))
    uses = {use.name: (use.support, use.nodes) for use in made("tvm")[1].operators(program)}
    assert uses["aten._fft_r2c.default"] == ("missing", ("fft_rfft",))
    assert uses["aten.add.Tensor"] == ("supported", ("add",))


def test_without_a_compiler_it_is_skipped(lowered, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("CXX", raising=False)
    proved = lowered("tvm", Transform(), (torch.randn(8),))
    assert proved.status == "skipped"
    assert "no C++ compiler" in proved.detail


def test_the_script_runs_beside_the_artefact(tmp_path):
    printed = printed_by_script("tvm", *small_models.structures(), tmp_path)
    assert [text.partition("float32")[1] for text in printed].count("float32") == 3
    assert len(printed) == 5
