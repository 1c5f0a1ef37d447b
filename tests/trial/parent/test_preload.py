"""Modules that a run of many targets imports once: every target's process has them, and none without being asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from exportlint.trial.discovery import from_text
from exportlint.trial.protocol.options import TrialOptions
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
