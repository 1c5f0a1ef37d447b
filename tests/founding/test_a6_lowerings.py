"""The exported program goes where it runs: AOTInductor on servers, ExecuTorch on devices, other backends."""

from __future__ import annotations

import importlib.util
import re
import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

HEAD = """\
import torch
from torch import nn


class Head(nn.Module):
    def forward(self, x):
        return (x * 2).relu()


model = Head()
example_args = (torch.randn(2, 4),)
"""
COUNTER = """\
import torch
from torch import nn


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.full((4,), 7.0))

    def forward(self, x):
        self.total.add_(1)
        return x * self.total


model = Counter()
example_args = (torch.ones(2, 4),)
"""
VENDOR = """\
from exportlint.lowering.backend import Lowering, Ran

REPRO = "exported = program.module()"


class Vendor(Lowering):
    runtime = ("torch",)

    def compile(self, program, folder):
        import torch

        torch.export.save(program, folder / "model.bin")
        return folder / "model.bin"

    def load(self, artefact):
        import torch
        from exportlint.lowering.arrays import array_leaves, torch_leaves

        module = torch.export.load(artefact).module()
        return lambda leaves: Ran(array_leaves([module(*torch_leaves(leaves)) + 0.25]))
"""


needs_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="AOTInductor needs a C++ compiler")
needs_executorch = pytest.mark.skipif(importlib.util.find_spec("executorch") is None, reason="no executorch here")


@pytest.mark.clause("AOTInductor for servers: compile, load, run, compare")
@needs_compiler
def test_aotinductor_gives_what_eager_gives(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", HEAD, "--mode", "non-strict", "--lower", "aotinductor").split())
    assert re.search(r"lower-aotinductor passed \S+ [\d,.]+ kB, run in a fresh process: sample twice", report)
    assert "runs in aotinductor" in report


@pytest.mark.clause("ExecuTorch for devices: compile, load, run, compare")
@needs_executorch
def test_executorch_loses_the_first_value_of_a_buffer_that_is_written(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", COUNTER, "--mode", "non-strict", "--lower", "executorch").split())
    assert "fails in executorch" in report
    assert "lower-executorch, compare: the output of the first call: values differ by up to 7" in report


@pytest.mark.clause("ONNX Runtime and TVM: compile, load, run, compare")
def test_onnxruntime_and_tvm_give_what_eager_gives(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", HEAD, "--mode", "non-strict", "--lower", "onnxruntime,tvm").split())
    for name in ("onnxruntime", "tvm"):
        assert re.search(rf"lower-{name} passed \S+ [\d,.]+ kB, run in a fresh process: sample twice", report)
    assert "runs in onnxruntime, tvm" in report


@pytest.mark.clause("other vendors' backends, by plugin")
def test_a_backend_of_somebody_else_is_compared_too(
    say: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "vendor_lowering.py").write_text(VENDOR, "utf-8")
    (tmp_path / "vendor-1.0.dist-info").mkdir()
    (tmp_path / "vendor-1.0.dist-info/METADATA").write_text("Name: vendor\nVersion: 1.0\n", "utf-8")
    points = "[exportlint.lowerings]\nvendor = vendor_lowering:Vendor\n"
    (tmp_path / "vendor-1.0.dist-info/entry_points.txt").write_text(points, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    report = " ".join(say("trial", HEAD, "--mode", "non-strict", "--lower", "vendor").split())
    assert "lower-vendor, compare: the output of the first call: values differ by up to 0.25" in report
