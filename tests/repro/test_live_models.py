"""Models that no file names: what a script handed to torch, what a zoo built, what lives in the caller's process."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import torch
from failing import Refused
from trials import NON_STRICT

import exportlint
from exportlint.repro.script import scripts
from exportlint.trial.discovery import from_text, from_zoo
from exportlint.trial.run import run_trials
from exportlint.workflow.report_building import Gathered
from exportlint.workflow.trials import folder_for_models, save_scripts

if TYPE_CHECKING:
    from exportlint.trial.protocol.result import TargetReport

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
ZOO = """
import torch

class Gated(torch.nn.Module):
    def forward(self, x, *, factor):
        return x * factor if x.sum() > 0 else x

def names():
    return ["gate"]

def build(name, options):
    code = "import gated_zoo", "gated_zoo.Gated()"
    return Gated(), (torch.rand(2, 3),), {"factor": torch.full((2, 3), 0.5)}, code
"""


@dataclass
class Saved:
    """What a trial left, and the scripts of it."""

    reports: dict[str, TargetReport]
    scripts: dict[str, list[Path]]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """By what the load stage calls the target."""
    home = tmp_path_factory.mktemp("home")
    (home / "gated_zoo.py").write_text(ZOO)
    with pytest.MonkeyPatch.context() as patch, folder_for_models(home / "repro") as models:
        patch.chdir(home)
        zoo = from_zoo("gated:gate", {"gated": "gated_zoo"})
        options = replace(NON_STRICT, jobs=2, kept_models=models)
        _, *reports = run_trials([*from_text(str(HERE / "exporting.py")), zoo], options)
        written = save_scripts(Gathered((), 0, (), targets=tuple(reports)), home / "repro").targets
    calls = ["Scaled", "Counts", "Locked", "halved", "gate"]
    paths = [[Path(path).absolute() for stage in report.stages for path in stage.repros] for report in written]
    return Saved(dict(zip(calls, reports, strict=True)), dict(zip(calls, paths, strict=True)))


def fails(path: Path) -> str:
    """What a process that does not know exportlint says at its end."""
    text = path.read_text("utf-8")
    assert "import exportlint" not in text
    assert "from exportlint" not in text
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [sys.executable, "-c", _WITHOUT_US + f"runpy.run_path({str(path)!r}, run_name='__main__')"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    return done.stderr


_WITHOUT_US = "import runpy, sys; sys.modules['exportlint'] = None; "


@pytest.mark.parametrize("name", ["Scaled", "halved", "gate"])
def test_a_refusal_comes_again(saved, name):
    seen = next(o for o in saved.reports[name].stage("export-non-strict").observations if "Guard" in o.error_class)
    (script,) = saved.scripts[name]
    assert f"{seen.error_class}: {seen.first_line}" in fails(script)


def test_a_difference_comes_again(saved):
    (script,) = saved.scripts["Counts"]
    assert "\nAssertionError: " in fails(script)


def test_a_zoo_that_says_how_it_makes_the_model_needs_no_file_beside(saved):
    text = saved.scripts["gate"][0].read_text("utf-8")
    assert "return gated_zoo.Gated()" in text
    assert "(torch.rand((2, 3)),), {'factor': torch.full((2, 3), 0.5)}" in text
    assert "torch.load" not in text


def test_what_cannot_be_pickled_is_said(saved):
    assert saved.scripts["Locked"] == []
    (script,) = scripts(saved.reports["Locked"])
    assert script.why.startswith("its model cannot be pickled (TypeError: cannot pickle '_thread.lock' object)")


def test_a_draft_names_files_that_an_earlier_export_of_the_script_has_met(saved):
    (issue,) = saved.reports["Scaled"].stage("draft").observations[:1]
    again = saved.reports["Locked"].stage("draft").observations[0]
    assert issue.user_path == again.user_path == str(HERE / "failing.py")


def test_a_live_model_is_saved_too(tmp_path):
    diagnosis = exportlint.diagnose(Refused().eval(), (torch.ones(2, 3),), save_repro=tmp_path / "repro")
    shown = [path for stage in diagnosis.ladder for path in stage.repros]
    assert [Path(path).name for path in shown] == ["Refused-export-non-strict.py", "Refused-export-strict.py"]
    assert "GuardOnDataDependentSymNode: Could not guard" in fails(Path(shown[0]))
