"""A model is exported in train mode: dropout, and the statistics of each batch, become part of the program."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

EXPORTS = """\
import torch
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x):
        return self.dropout(self.norm(self.project(x)))


if __name__ == "__main__":
    encoder = Encoder()
    program = torch.export.export(encoder, (torch.randn(8, 4),))
"""

# The same as a file that declares its target, and exports it when it is run.
DECLARED = (
    EXPORTS.partition("if __name__")[0]
    + """\
model = Encoder()
example_args = (torch.randn(8, 4),)

if __name__ == "__main__":
    torch.export.export(model, example_args)
"""
)


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> str:
    return say("trial", EXPORTS, "--output-format", "concise")


@pytest.mark.clause("flagged at the call")
def test_the_static_pass_names_the_call(say: Callable[..., str]) -> None:
    assert "net.py:18:15: error[export-in-train-mode]" in say("check", EXPORTS, "--output-format", "concise")


@pytest.mark.clause("and in the trial, with the modules by name")
def test_the_trial_names_the_modules(report: str) -> None:
    assert "exported in training mode: norm, dropout" in report


@pytest.mark.clause("one finding, of the rule, at the call; not also one that no rule knows")
def test_what_is_suspected_and_what_was_seen_are_one(report: str) -> None:
    about = [line for line in report.splitlines() if "train" in line and line.startswith("net.py")]
    assert len(about) == 1
    assert about[0].startswith("net.py:18:15: error[export-in-train-mode]")
    assert "tried: exported in training mode" in about[0]


@pytest.mark.clause("also where the trial tries a declared model, which the file exports elsewhere")
def test_a_declared_model_has_one_finding_too(say: Callable[..., str]) -> None:
    report = say("trial", DECLARED, "--output-format", "concise").splitlines()
    (about,) = (line for line in report if "train" in line and line.startswith("net.py"))
    assert about.startswith("net.py:20:5: error[export-in-train-mode]")
    assert "tried: exported in training mode: norm, dropout" in about


KEPT = (
    EXPORTS.partition("if __name__")[0]
    + """\
model = Encoder()
example_args = (torch.randn(8, 4),)
"""
)
MADE = (
    EXPORTS.partition("if __name__")[0]
    + """\
def get_model():
    torch.manual_seed(0)
    return Encoder()


def get_inputs():
    return (torch.randn(8, 4),)
"""
)


@pytest.mark.parametrize(("source", "place"), [(KEPT, "net.py:16:9"), (MADE, "net.py:18:12")], ids=["kept", "made"])
@pytest.mark.clause("a declared model in train mode is an error, as at a call")
def test_a_model_that_the_file_keeps_is_an_error_where_it_is_made(
    say: Callable[..., str], source: str, place: str
) -> None:
    assert f"{place}: error[export-in-train-mode]" in say("check", source, "--output-format", "concise")
    for before, after in (("Encoder()\n", "Encoder().eval()\n"), ("Encoder()\n", "Encoder().train()\n")):
        assert "train-mode" not in say("check", source.replace(before, after), "--output-format", "concise")


@pytest.mark.clause("a trial of it confirms the one finding")
def test_a_trial_of_a_model_that_the_file_keeps_confirms_it(say: Callable[..., str]) -> None:
    report = say("trial", KEPT, "--output-format", "concise").splitlines()
    (about,) = (line for line in report if "train" in line and line.startswith("net.py"))
    assert about.startswith("net.py:16:9: error[export-in-train-mode]")
    assert "tried: exported in training mode: norm, dropout" in about
