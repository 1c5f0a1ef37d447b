"""`torch.jit.trace` keeps the branch that the sample takes, and says so in a warning only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LAYERS = """\
from torch import nn


def damped(x):
    if x.abs().amax() > 2.5:
        return x / x.abs().amax()
    return x


class Damper(nn.Module):
    def forward(self, x):
        return damped(x)
"""
SHIP = """\
import torch
from layers import Damper
from torch import nn


class Detector(nn.Module):
    def __init__(self):
        super().__init__()
        self.weigh = nn.Linear(3, 3)
        self.after = nn.Sequential(nn.ReLU(), Damper())

    def forward(self, x):
        return self.after(self.weigh(x))


torch.manual_seed(0)
detector = Detector().eval()
torch.jit.trace(detector, torch.rand(2, 3)).save("detector.pt")
"""
STRAIGHT = """\
import torch
from torch import nn

torch.jit.trace(nn.Sequential(nn.Linear(3, 3), nn.ReLU()).eval(), torch.rand(2, 3)).save("straight.pt")
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tracing")
    (folder / "layers.py").write_text(LAYERS, "utf-8")
    (folder / "ship.py").write_text(SHIP, "utf-8")
    return folder / "ship.py"


@pytest.fixture(scope="module")
def report(say: Callable[..., str], script: Path) -> str:
    return " ".join(say("trial", script).split())


@pytest.mark.clause("flag trace over a module whose forward branches on data")
def test_the_call_is_flagged_with_the_line_of_the_branch(say: Callable[..., str], script: Path) -> None:
    found = say("check", script, "--output-format", "concise")
    assert re.search(
        r"ship\.py:18:1: warning\[torchscript-remnant\] .*`damped` branches on data in layers\.py:5", found
    )


@pytest.mark.clause("a branch in a submodule of what is traced")
def test_the_branch_may_stand_below_the_model_in_another_file(say: Callable[..., str], script: Path) -> None:
    assert "branches on data in layers.py:5" in say("check", script, "--output-format", "concise")


@pytest.mark.clause("a module without such a branch is left alone")
def test_a_straight_model_is_not_flagged(say: Callable[..., str]) -> None:
    found = say("check", STRAIGHT, "--output-format", "concise")
    assert "branches on data" not in found
    assert "Found 1 note" in found  # that torch.jit.trace is deprecated


BRANCHING = """\
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x: torch.Tensor, limits=None):
        if limits is not None and limits.max() > 3:
            x = x * 2
        if x.sum() > 0:
            return x
        return -x


torch.jit.trace(Gate().eval(), torch.ones(3)).save("gate.pt")
"""


@pytest.mark.clause("an error where it is known that the test reads data, a warning where only its name says so")
def test_a_test_that_is_known_to_read_data_is_an_error(say: Callable[..., str]) -> None:
    found = say("check", BRANCHING, "--output-format", "concise")
    assert re.search(r"net\.py:14:1: error\[torchscript-remnant\] .*`Gate.forward` branches on data in line 9", found)


@pytest.mark.slow
@pytest.mark.clause("a trial shows two inputs that disagree")
def test_both_inputs_are_shown_with_both_values(report: str) -> None:
    found = re.search(
        r"on (?P<how>[^(]+?) eager gives (?P<eager>\S+) at \[\d, \d\], the traced module (?P<traced>\S+); "
        r"on the sample both give (?P<sample>\S+);",
        report,
    )
    assert found
    assert found["eager"] != found["traced"]


@pytest.mark.slow
@pytest.mark.clause("the line at which they part")
def test_the_branch_is_named_and_the_suspicion_confirmed(report: str) -> None:
    assert "they part at layers.py:5, `if x.abs().amax() > 2.5:`" in report
    assert "confirmed: target ship.py:18, stage jit-trace" in report


@pytest.mark.slow
@pytest.mark.clause("a traced module that is right is said to be right")
def test_a_straight_model_agrees_on_other_values(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", STRAIGHT).split())
    assert re.search(r"jit-trace passed \S+ the traced module agrees with eager on \d+ sets of other values", report)


ON_THE_SAMPLE = """\
import torch
from torch import nn


class Doubled(nn.Module):
    def forward(self, x):
        return x * 2 if torch.jit.is_tracing() else x


torch.jit.trace(Doubled().eval(), torch.ones(2)).save("doubled.pt")
"""


@pytest.mark.slow
@pytest.mark.clause("a traced module that is wrong on the sample itself is not called right")
def test_a_difference_on_the_sample_is_told_as_that(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", ON_THE_SAMPLE).split())
    assert "jit-trace differs" in report
    assert "on the sample itself eager gives 1 at [0], the traced module 2" in report


RAISES = """\
import torch
from torch import nn


class Kept(nn.Module):
    def forward(self, x):
        kept = x[x > 0]
        return kept.view(1, len(kept))


torch.jit.trace(Kept().eval(), torch.tensor([1.0, -1.0, 2.0, 3.0])).save("kept.pt")
"""


@pytest.mark.slow
@pytest.mark.clause("nor is one that raises on values which eager takes")
def test_values_on_which_only_the_traced_module_raises_are_shown(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", RAISES).split())
    assert "jit-trace differs" in report
    assert "eager gives its outputs, the traced module raises" in report
