"""What shows only in another process, or in training: the order of a set, and gradients."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from trials import NON_STRICT, found_in, tried

if TYPE_CHECKING:
    from pathlib import Path

    from exportlint.trial.protocol.options import TrialOptions

pytestmark = pytest.mark.slow

ORDER = """
import torch

NAMES = {"first", "second"}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleDict({name: torch.nn.Linear(3, 3) for name in ORDER})

    def forward(self, x):
        for name in ORDER:
            x = self.layers[name](x)
        return x


model = Net()
example_args = (torch.ones(2, 3),)
"""


@pytest.mark.parametrize(("order", "differs"), [("NAMES", True), ("sorted(NAMES)", False)])
def test_the_order_of_a_set_is_another_in_another_process(tmp_path: Path, order: str, *, differs: bool) -> None:
    """The layers are made in that order too: weights that another process draws otherwise are no difference."""
    file = tmp_path / "net.py"
    file.write_text(ORDER.replace("in ORDER}", "in sorted(NAMES)}").replace("ORDER", order), "utf-8")
    (report,) = tried(file).values()
    found = [(one.family, one.line_text.strip()) for one in found_in(report, tmp_path)]
    assert found == ([("other-process", "x = self.layers[name](x)")] if differs else [])
    assert ("other-process" in report.shown("non-strict")) is not differs


def test_layers_that_are_made_in_another_order_are_no_difference(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(ORDER.replace("in ORDER}", "in NAMES}").replace("in ORDER:", "in sorted(NAMES):"), "utf-8")
    (report,) = tried(file).values()
    assert found_in(report, tmp_path) == []


GRADIENTS = """
import torch


class Rounded(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, grad):
        return grad


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(3, 3)

    def forward(self, x):
        y = self.layer(x)
        return ROUNDED


model = Net()
example_args = (torch.ones(2, 3),)
"""


@pytest.mark.parametrize(
    ("rounded", "found", "compared"),
    [
        pytest.param("Rounded.apply(y)", [("gradients", "return grad")], True, id="a backward of one's own"),
        pytest.param("Rounded.apply(y).detach()", [], False, id="eager has none either"),
        pytest.param("y + (y.round() - y).detach()", [], True, id="operations that have the gradient"),
    ],
)
def test_gradients_are_compared_where_that_is_asked_for(
    tmp_path: Path, rounded: str, found: list[tuple[str, str]], *, compared: bool
) -> None:
    file = tmp_path / "net.py"
    file.write_text(GRADIENTS.replace("ROUNDED", rounded), "utf-8")
    for grad, expected in ((True, found), (False, [])):
        options: TrialOptions = replace(NON_STRICT, grad=grad)
        (report,) = tried(file, options).values()
        assert [(one.family, one.line_text.strip()) for one in found_in(report, tmp_path)] == expected
        assert ("gradients" in report.shown("non-strict")) is (grad and compared)
