"""A refused export once more, with one thing changed that needs no edit of the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from trials import found_in, tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

NET = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        BODY


model = Net()TRAINING
example_args = (torch.ones(2, 3),)
"""
CASES = {
    "distributions": (
        "return torch.distributions.Normal(self.layer(x), torch.ones(3)).log_prob(x)",
        "",
        "build distributions with `validate_args=False`",
    ),
    "training": (
        "return x if self.training and x.sum() > 0 else self.layer(x)",
        ".train()",
        "call `.eval()` before the export",
    ),
    "nothing": ("return x if x.sum() > 0 else self.layer(x)", ".eval()", ""),
}


@pytest.mark.parametrize("name", CASES)
def test_what_helps_is_in_the_advice(tmp_path: Path, name: str) -> None:
    body, training, says = CASES[name]
    file = tmp_path / "net.py"
    file.write_text(NET.replace("BODY", body).replace("TRAINING", training), "utf-8")
    (report,) = tried(file).values()
    refusal = next(found for found in found_in(report, tmp_path) if found.family == "refused")
    assert refusal.remedy.startswith(says)
    assert bool(refusal.remedy) == bool(says)


SWITCHED = """
import torch


class Settings:
    def __init__(self):
        self.scaled = True
        self.keeps_state = True


class State:
    def __init__(self, held):
        self.held = held


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.settings = Settings()

    def forward(self, x):
        y = x * 2 if self.settings.scaled else x
        return {"y": y, "state": State(x)} if self.settings.keeps_state else {"y": y}


model = Net()
example_args = (torch.ones(2, 3),)
"""


def test_a_flag_of_the_models_settings_leaves_out_what_torch_cannot_take_apart(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SWITCHED, "utf-8")
    (report,) = tried(file).values()
    refusal = next(found for found in found_in(report, tmp_path) if found.family == "refused")
    assert refusal.switch == "settings.keeps_state"
    assert refusal.remedy.startswith("write `model.settings.keeps_state = False` before the call")


def test_a_flag_with_which_the_rest_differs_is_none(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(SWITCHED.replace('else {"y": y}', 'else {"y": -y}'), "utf-8")
    (report,) = tried(file).values()
    refusal = next(found for found in found_in(report, tmp_path) if found.family == "refused")
    assert (refusal.switch, refusal.remedy) == ("", "")
