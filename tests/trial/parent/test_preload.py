"""Modules that a run of many targets imports once: every target's process has them, and none without being asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.trial.discovery import as_script, from_text
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
    ("module", "options"),
    [
        ("onnxscript", TrialOptions(quick=True, lower=("onnxruntime",))),
        ("torch._inductor.compile_fx", TrialOptions(quick=True, purpose=COMPILE)),
    ],
    ids=["a lowering", "torch.compile"],
)
def test_a_compiler_is_loaded_once_and_not_where_nobody_asked_for_it(
    tmp_path: Path, module: str, options: TrialOptions
) -> None:
    (tmp_path / "net.py").write_text(TELLS.replace("wave", module), "utf-8")
    for how, status in ((options, "refused"), (TrialOptions(quick=True), "passed")):
        (report,) = run_trials(from_text(str(tmp_path / "net.py")), how)
        loaded = report.stage("load")
        assert loaded
        assert loaded.status == status, how


@pytest.mark.slow
@pytest.mark.parametrize("call", ["torch.onnx.export(model, example_args, 'net.onnx')", "torch.export.export"])
def test_so_is_that_of_a_script_which_names_it(tmp_path: Path, call: str) -> None:
    (tmp_path / "net.py").write_text(TELLS.replace("wave", "onnxscript") + f"\n\ndef deploy():\n    {call}\n", "utf-8")
    (target,) = from_text(str(tmp_path / "net.py"))
    (report, *_) = run_trials([as_script(target)], TrialOptions(quick=True))
    ran = report.stage("script")
    assert ran
    assert any("it is there" in seen.first_line for seen in ran.observations) == ("onnx" in call)


@pytest.mark.slow
@pytest.mark.parametrize("breaks", ["import os; os._exit(3)", "raise OSError('no library')"])
def test_what_cannot_be_imported_before_keeps_nobody_from_the_rest(
    tmp_path: Path, breaks: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "no_compiler.py").write_text(breaks, "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (tmp_path / "net.py").write_text(TELLS, "utf-8")
    (report,) = run_trials(from_text(str(tmp_path / "net.py")), TrialOptions(quick=True, preload=("no_compiler",)))
    loaded = report.stage("load")
    assert loaded
    assert loaded.status == "passed"


def test_what_a_lowering_imports_is_read_from_its_file() -> None:
    assert constant_of_lowering("executorch", "COMPILERS") == ("executorch.exir",)
    assert constant_of_lowering("openvino", "COMPILERS") is None
    assert constant_of_lowering("nothing", "COMPILERS") is None
