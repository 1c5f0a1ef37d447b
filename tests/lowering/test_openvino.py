"""OpenVINO for real: what comes through, what its frontend or CPU plugin refuses, and what changes silently."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
import small_models
import torch
from live_models import line, made, printed_by_script
from torch import nn

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow


class Transform(nn.Module):
    def forward(self, x):
        y = x + 1
        return torch.fft.rfft(y).abs()


class AddsAtIndex(nn.Module):
    """An operator that the frontend knows, with arguments that it does not expect."""

    def forward(self, x, index):
        y = x * 2
        return torch.zeros(4, 3).index_add(0, index, y)


class ReturnsTwice(nn.Module):
    def forward(self, x):
        y = x + 1
        return y, x * 2, y


class WrapsAround(nn.Module):
    def forward(self, x):
        return x + 200


class Wide(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 16))

    def forward(self, x):
        return self.layers(x)


COMPILES = """
import multiprocessing
import os
import sys
from pathlib import Path

import torch
from exportlint.lowering.openvino import OpenVINO

multiprocessing.Process.start = lambda self: print("started", self)
program = torch.export.export(torch.nn.Linear(2, 2), (torch.ones(1, 2),))
OpenVINO({**OpenVINO.defaults}).compile(program, Path(sys.argv[1]))
print(sorted({"CI"} & os.environ.keys()), sys.modules["openvino_telemetry"].__name__)
"""


def test_nobody_is_told_that_it_is_used(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    command = [sys.executable, "-c", COMPILES, str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[]", "openvino_telemetry"]


@pytest.mark.parametrize(
    ("model", "args", "words", "text"),
    [
        (Transform, (torch.randn(8),), "has no converter for aten._fft_r2c.default", "return torch.fft.rfft(y).abs()"),
        (
            AddsAtIndex,
            (torch.randn(2, 3), torch.tensor([1, 1])),
            "cannot convert aten.index_add.default: Got less inputs 4 than expected 5",
            "return torch.zeros(4, 3).index_add(0, index, y)",
        ),
        (ReturnsTwice, (torch.ones(2),), "cannot return a tensor twice", "y = x + 1"),
        (small_models.ReturnsNumber, (torch.ones(2),), "returns a Python number", "y = x + 1"),
        (small_models.Complex, (torch.ones(2, dtype=torch.complex64),), "no complex tensors", "return x * (1 + 2j)"),
        (small_models.TakesNumber, (torch.ones(2), 3), "inputs without type for the arguments factor", None),
    ],
)
def test_a_refusal_stands_at_its_line_with_a_rewrite(lowered, model, args, words, text):
    proved = lowered("openvino", model(), args)
    assert proved.status == "refused"
    assert words in proved.detail
    assert proved.observations[0].details["suggestion"]
    assert line(proved) == text


def test_small_integers_that_wrap_around_in_eager_show_at_their_line(lowered):
    proved = lowered("openvino", WrapsAround(), (torch.full((3,), 100, dtype=torch.uint8),))
    assert proved.status == "differs"
    assert (proved.observations[0].check, line(proved)) == ("output", "return x + 200")


def test_running_statistics_that_nothing_reads_are_not_missed(lowered):
    assert lowered("openvino", small_models.InTraining(), (torch.randn(4, 3) + 2,)).status == "passed"


def test_sizes_that_are_read_from_data_are_run(lowered):
    assert lowered("openvino", small_models.Picks(), (torch.randn(6),)).status == "passed"


def test_without_its_settings_it_is_less_exact(lowered):
    args = (torch.randn(4, 64),)
    assert lowered("openvino", Wide(), args, settings={"tolerance": 1e-5}).status == "passed"
    halved = lowered("openvino", Wide(), args, settings={"tolerance": 1e-5, "compress_to_fp16": True})
    assert halved.status == "differs"
    import openvino  # noqa: PLC0415 - slow to import

    if "BF16" in openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"):
        assert lowered("openvino", Wide(), args, settings={"tolerance": 1e-5, "config": {}}).status == "differs"


def test_the_dry_run_knows_what_is_missing():
    program = torch.export.export(Transform(), (torch.randn(8),))
    uses = {use.name: (use.support, use.nodes) for use in made("openvino")[1].operators(program)}
    assert uses["aten._fft_r2c.default"] == ("missing", ("fft_rfft",))
    assert uses["aten.add.Tensor"] == ("supported", ("add",))


def test_the_script_runs_beside_the_artefact(tmp_path):
    printed = printed_by_script("openvino", *small_models.structures(), tmp_path)
    assert [text.partition("float32")[1] for text in printed].count("float32") == 3
    assert len(printed) == 5
