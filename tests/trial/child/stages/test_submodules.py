"""Which submodule is refused by itself: asked where torch names no line of a refusal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from inline_snapshot import snapshot
from trials import found_in, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

# The code of Gate stands in no file, so that torch has no line to name.
NET = """
import torch

namespace = {}
exec("def forward(self, x):\\n    return x * 2 if x.sum() > 0 else x", namespace)


class Gate(torch.nn.Module):
    forward = namespace["forward"]


model = torch.nn.Sequential(torch.nn.ReLU(), Gate())
example_args = (torch.ones(3, 4),)
"""


def test_the_smallest_submodule_that_fails_is_named_with_what_it_really_got(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET, "utf-8")
    (report,) = tried(file).values()
    (refusal,) = (found for found in found_in(report, tmp_path) if found.family == "refused")
    assert "the submodule `1` (Gate) is refused by itself with float32[3, 4]" in refusal.message


def test_a_torchscript_module_among_them_is_no_failure_of_the_search(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    scripted = NET.replace("torch.nn.ReLU(), Gate()", "torch.jit.script(torch.nn.ReLU()), Gate()")
    file.write_text(scripted, "utf-8")
    (report,) = tried(file).values()
    stage = report.stage("submodules")
    assert stage is not None
    assert (stage.status, stage.detail) == ("refused", snapshot("refused by themselves: 1"))


def test_a_model_that_is_torchscript_is_one_clear_sentence(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    scripted = "import torch\nmodel = torch.jit.script(torch.nn.ReLU())\nexample_args = (torch.ones(3),)\n"
    file.write_text(scripted, "utf-8")
    (report,) = tried(file).values()
    assert [found.words.message for found in found_in(report, tmp_path)] == [
        snapshot("what is exported is a TorchScript module")
    ]
    stage = report.stage("submodules")
    assert stage is not None
    assert (stage.status, stage.detail) == ("skipped", snapshot("no part of a TorchScript module can be exported"))


def test_where_torch_names_the_line_nobody_searches(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET.replace('forward = namespace["forward"]', "def forward(self, x): return x if x[0, 0] else -x"))
    (report,) = tried(file).values()
    stage = report.stage("submodules")
    assert stage is not None
    assert (stage.status, stage.detail) == ("skipped", snapshot("torch names the line of each refusal"))


QUANTIZED = """
import torch


class Branch(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.narrow, self.wide = torch.nn.Linear(4, 2), torch.nn.Linear(2, 4)

    def forward(self, x):
        return self.wide(torch.relu(self.narrow(x)))


quantized = {"wide": torch.ao.quantization.default_dynamic_qconfig}
model = torch.nn.Sequential(Branch(), torch.ao.quantization.quantize_dynamic(Branch(), quantized)).eval()
example_args = (torch.ones(3, 4),)
"""


def test_a_layer_of_torch_is_named_where_nothing_else_in_its_module_fails(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(QUANTIZED, "utf-8")
    (report,) = tried(file).values()
    (refusal,) = (found for found in found_in(report, tmp_path) if found.within)
    assert "the submodule `1.wide` (Linear) is refused by itself with float32[3, 2]" in refusal.message
    assert refusal.words.suggestion == "replace that submodule by one that exports, or leave it out of what is exported"
