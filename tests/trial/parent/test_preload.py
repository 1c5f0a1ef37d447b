"""Modules that a run of many targets imports once: every target's process has them, and none without being asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.trial.discovery import from_text
from exportlint.trial.protocol.lowering_file import constant_of_lowering
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.protocol.purposes import COMPILE
from exportlint.trial.run import run_trials

if TYPE_CHECKING:
    from pathlib import Path

TELLS = """
import sys

import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x


if "wave" in sys.modules:
    raise RuntimeError("it is there")

model, example_args = Net(), (torch.ones(2),)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("preload", "status"), [((), "passed"), (("wave", "no_such_module"), "refused")])
def test_the_targets_find_what_was_imported_before_them(tmp_path: Path, preload: tuple[str, ...], status: str) -> None:
    (tmp_path / "net.py").write_text(TELLS, "utf-8")
    (report,) = run_trials(from_text(str(tmp_path / "net.py")), TrialOptions(quick=True, preload=preload))
    loaded = report.stage("load")
    assert loaded
    assert loaded.status == status


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "options", "source"),
    [
        ("onnxscript", TrialOptions(quick=True, lower=("onnxruntime",)), ""),
        (
            "onnxscript",
            TrialOptions(quick=True),
            "def deploy():\n    torch.onnx.export(model, example_args, 'net.onnx')\n",
        ),
        ("torch._inductor.compile_fx", TrialOptions(quick=True, purpose=COMPILE), ""),
    ],
    ids=["a lowering", "a call in the file", "torch.compile"],
)
def test_a_compiler_is_loaded_once_and_not_where_nobody_asked_for_it(
    tmp_path: Path, module: str, options: TrialOptions, source: str
) -> None:
    (tmp_path / "net.py").write_text(TELLS.replace("wave", module) + source, "utf-8")
    (tmp_path / "plain.py").write_text(TELLS.replace("wave", module), "utf-8")
    for file, how, status in (("net.py", options, "refused"), ("plain.py", TrialOptions(quick=True), "passed")):
        (report,) = run_trials(from_text(str(tmp_path / file)), how)
        loaded = report.stage("load")
        assert loaded
        assert loaded.status == status, file


def test_what_a_lowering_imports_is_read_from_its_file() -> None:
    assert constant_of_lowering("executorch", "COMPILERS") == ("executorch.exir",)
    assert constant_of_lowering("openvino", "COMPILERS") is None
    assert constant_of_lowering("nothing", "COMPILERS") is None
