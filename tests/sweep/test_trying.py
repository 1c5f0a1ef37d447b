"""What a worker says of one target, whatever happens to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from exportlint.sweep.closure import SourceReader
from exportlint.sweep.key import planned
from exportlint.sweep.result import SweptOutcome
from exportlint.trial.discovery import from_text
from exportlint.trial.protocol.options import TrialOptions
from exportlint.workflow.sweeping import try_target

NET = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return x + 1


model, example_args = Net(), (torch.ones(3),)
"""
OPTIONS = TrialOptions(modes=("non-strict",), quick=True, keep=True)


@pytest.fixture
def net(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(NET, "utf-8")
    return tmp_path


def test_a_target_in_which_exportlint_itself_fails_is_a_result_like_others(net: Path) -> None:
    (target,) = from_text("net.py")
    job = planned(target, OPTIONS, {"python": "3.11"}, SourceReader())
    # Without a mode there is no first one to tell the outcome of, and no sweep asks so.
    broken = TrialOptions(modes=(), quick=True, keep=True)
    result = try_target(job, broken, "non-strict", 60)
    assert (result.key, result.outcome) == (job.key, SweptOutcome.NOT_TRIED)
    assert result.detail == (
        "exportlint failed: IndexError: tuple index out of range; `exportlint trial net.py` shows where"
    )


@pytest.mark.slow
def test_a_target_whose_time_is_over_says_so_and_keeps_what_was_done(net: Path) -> None:
    (target,) = from_text("net.py")
    job = planned(target, OPTIONS, {"python": "3.11"}, SourceReader())
    result = try_target(job, OPTIONS, "non-strict", 0.001)
    assert (result.outcome, result.detail) == (
        SweptOutcome.NOT_TRIED,
        "the 0.001 seconds for one target were over",
    )
    assert try_target(job, OPTIONS, "non-strict", 300).outcome is SweptOutcome.EXPORTS


LIBRARY = """
import torch


class Layer(torch.nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            return x * 2
        return -x
"""


@pytest.mark.slow
def test_rewrites_are_tried_of_what_fails_in_libraries_too_and_nothing_is_written(net: Path) -> None:
    library = net / "site-packages"
    library.mkdir()
    (library / "layers_of_somebody.py").write_text(LIBRARY, "utf-8")
    Path("of_library.py").write_text(
        f"import sys\n\nimport torch\n\nsys.path.append({str(library)!r})\n"
        "from layers_of_somebody import Layer\n\nmodel, example_args = Layer(), (torch.ones(3),)\n"
    )
    # Whole, since the process of the trials stays in the folder of the first of them.
    (target,) = from_text(str(net / "of_library.py"))
    job = planned(target, OPTIONS, {"python": "3.11"}, SourceReader(), fix=True)
    result = try_target(job, OPTIONS, "non-strict", 300, fix=True)
    assert result.outcome is SweptOutcome.REFUSED
    # What ran of the library is what the static pass is judged by.
    assert result.ran == {"layers_of_somebody.py": (6, 7, 8, 9)}
    assert result.repair is not None
    assert (result.repair.outcome, result.repair.rewrites) == (
        SweptOutcome.EXPORTS,
        (("data-dependent-branch", "compute both sides and select"),),
    )
    assert "+        return torch.where(x.sum() > 0, x * 2, -x)" in result.repair.diff
    assert (library / "layers_of_somebody.py").read_text("utf-8") == LIBRARY
