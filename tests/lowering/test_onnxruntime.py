"""ONNX Runtime for real: what comes through, what torch.onnx or the runtime refuses, and what changes silently."""

from __future__ import annotations

import pytest
import small_models
import torch
from inline_snapshot import snapshot
from live_models import line, made, printed_by_script
from torch import nn
from torch.export import Dim

pytestmark = pytest.mark.slow


class Svd(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.linalg.svd(y)[1]


class CumulativeProduct(nn.Module):
    """Decomposed by torch.onnx into an operator that no other decomposition has."""

    def forward(self, x):
        y = x * 2
        return y.cumprod(0)


class HalvesOfDim(nn.Module):
    def forward(self, x):
        left, right = x.chunk(2, 1)
        return left * right


class Bfloat16(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4).bfloat16()

    def forward(self, x):
        y = x + 1
        return self.linear(y)


def test_an_operator_without_function_is_refused_at_its_line(lowered):
    proved = lowered("onnxruntime", Svd(), (torch.randn(3, 3),))
    assert proved.status == "refused"
    assert proved.detail == snapshot("compile: torch.onnx has no converter for aten._linalg_svd.default")
    assert line(proved) == "return torch.linalg.svd(y)[1]"


def test_an_operator_that_only_its_decompositions_have_is_placed_and_known_before(lowered):
    proved = lowered("onnxruntime", CumulativeProduct(), (torch.rand(3, 2),))
    assert proved.detail == snapshot("compile: torch.onnx has no converter for prims.prod.default")
    assert line(proved) == "return y.cumprod(0)"
    assert "cumsum" in proved.observations[0].details["suggestion"]
    program = torch.export.export(CumulativeProduct(), (torch.rand(3, 2),))
    uses = {use.name: use for use in made("onnxruntime")[1].operators(program)}
    assert [(use.name, use.nodes) for use in uses.values() if use.support == "missing"] == [
        ("prims.prod.default", ("cumprod",))
    ]
    assert uses["aten.mul.Tensor"].support == "supported"


def test_a_dry_run_leaves_the_program_as_it_was(lowered, tmp_path):
    """Sizes that are read from data are made anew by each decomposition."""
    program = torch.export.export(small_models.Picks(), (torch.randn(6),))
    _, lowering = made("onnxruntime")
    assert {use.support for use in lowering.operators(program)} == {"supported"}
    assert lowering.compile(program, tmp_path).is_file()


def test_a_dtype_without_kernel_is_refused_at_its_line(lowered):
    proved = lowered("onnxruntime", Bfloat16(), (torch.randn(2, 4).bfloat16(),))
    assert proved.status == "refused"
    assert proved.detail.startswith("load: ONNX Runtime's CPU has no kernel for the dtypes that ")
    assert line(proved) in ("y = x + 1", "return self.linear(y)")


@pytest.mark.parametrize(
    ("model", "args", "words", "text"),
    [
        (small_models.ReturnsNumber, (torch.ones(2),), "returns a Python number", "y = x + 1"),
        (small_models.Complex, (torch.ones(2, dtype=torch.complex64),), "no complex tensors", "return x * (1 + 2j)"),
    ],
)
def test_what_an_onnx_graph_cannot_hold_is_refused_with_a_rewrite(lowered, model, args, words, text):
    proved = lowered("onnxruntime", model(), args)
    assert proved.status == "refused"
    assert words in proved.detail
    assert proved.observations[0].details["suggestion"]
    assert line(proved) == text


def test_numbers_among_the_arguments_are_constants(lowered):
    assert lowered("onnxruntime", small_models.TakesNumber(), (torch.ones(2), 3)).status == "passed"


def test_training_batch_norm_becomes_one_with_running_statistics(lowered):
    """torch.onnx drops the mode: the values are others in the first call."""
    proved = lowered("onnxruntime", small_models.InTraining(), (torch.randn(4, 3) + 2,))
    assert (proved.status, proved.observations[0].details["inputs"]) == ("differs", "sample")


def test_a_failure_of_the_optimizer_names_the_setting_that_leaves_it_out(lowered):
    args, shapes = (torch.randn(4, 6),), ({1: 2 * Dim("half", min=2, max=8)},)
    proved = lowered("onnxruntime", HalvesOfDim(), args, None, shapes)
    assert proved.detail.startswith("compile: the optimizer of onnxscript fails")
    assert line(proved) == "left, right = x.chunk(2, 1)"
    assert lowered("onnxruntime", HalvesOfDim(), args, None, shapes, {"optimize": False}).status == "passed"


def test_the_opset_is_the_one_asked_for_or_refused(lowered):
    args = (torch.ones(2), 3)
    assert lowered("onnxruntime", small_models.TakesNumber(), args, settings={"opset": 21}).status == "passed"
    proved = lowered("onnxruntime", small_models.TakesNumber(), args, settings={"opset": 9})
    assert proved.status == "refused"
    assert "asked for opset 9" in proved.detail


def test_the_script_runs_beside_the_artefact(tmp_path):
    printed = printed_by_script("onnxruntime", *small_models.structures(), tmp_path)
    assert [text.partition("float32")[1] for text in printed].count("float32") == 3
    assert len(printed) == 5
