"""The branch that an argument decides: in forward, or in what forward hands the argument on to."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest
import torch

from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines
from exportlint.trial.child.loading.module_wrapper import wrapped
from exportlint.trial.child.soundness.unused_inputs import steered_branch

X = torch.ones(2)


class Head(torch.nn.Module):
    def forward(self, x, many, *, noise=None):
        if noise is not None:
            x = x + noise
        return x[:2] if many else x[:1]


def scaled(x, by):
    while by > 1:
        x, by = x * 2, by - 1
    return x


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.head = Head()

    def forward(self, x, several, noise=None, steps=1, quiet=False):
        if self.training and quiet:
            return self.unused(x, quiet)
        return scaled(self.head(x, several, noise=noise), steps)

    def unused(self, x, quiet):
        if quiet:
            return x
        return -x


def branch(model: Any, name: str) -> str | None:
    lines: Lines = defaultdict(set)
    with recorded_lines(lines):
        model(X, True, None, 1)
    found = steered_branch(model, name, lines)
    return found and found.text


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("noise", "if noise is not None:"),
        ("several", "return x[:2] if many else x[:1]"),
        ("steps", "while by > 1:"),
        ("quiet", "if self.training and quiet:"),
        ("x", None),
    ],
)
def test_the_first_test_that_reads_the_argument_is_named(name: str, text: str | None) -> None:
    assert branch(Net().eval(), name) == text


def test_of_a_method_that_was_wrapped_it_is_the_method_that_is_read() -> None:
    class Predictor:
        def __init__(self):
            self.model = Net().eval()

        def predict(self, x, several, noise=None, steps=1):
            return self.model(x, several, noise, steps)

    assert branch(wrapped(Predictor().predict), "several") == "return x[:2] if many else x[:1]"


def test_a_branch_that_never_ran_is_none() -> None:
    assert steered_branch(Net(), "several", {}) is None
