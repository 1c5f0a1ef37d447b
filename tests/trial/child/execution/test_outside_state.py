"""Python state outside of the model: what every call of eager changes, and the exported program never."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from exportlint.trial.discovery import discover
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

pytestmark = pytest.mark.slow

MODEL = """
import torch
from torch import nn

SEEN = []
TABLES = {}


def noted(x, log=[]):
    log.append(x.shape[0])  # a default argument
    return x


def counter():
    calls = [0]

    def count(x):
        calls[0] += 1  # a closure
        return x

    return count


count = counter()


class Net(nn.Module):
    names = []

    def forward(self, x):
        SEEN.append(x.shape[0])  # a global
        Net.names.append("x")  # a class attribute
        x = count(noted(x))
        if x.shape not in TABLES:
            TABLES[x.shape] = 3.0
        return x * 2 + TABLES[x.shape]


model = Net().eval()
example_args = (torch.randn(2, 3),)
"""


def test_each_place_is_told_at_the_line_that_changes_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(textwrap.dedent(MODEL), "utf-8")
    (report,) = run_trials(discover([Path("net.py")]), TrialOptions(modes=("non-strict",), timeout=120))
    soundness = report.stage("soundness")
    assert soundness is not None
    lines = MODEL.splitlines()
    told = {
        str(seen.details["name"]): lines[(seen.user_line or 0) - 1].partition("# ")[2]
        for seen in soundness.observations
        if seen.check == "outside-state"
    }
    assert told == {
        "defaults of noted": "a default argument",
        "closure calls of counter.<locals>.count": "a closure",
        "global SEEN": "a global",
        "class Net.names": "a class attribute",
    }, "a table that is filled once is no news to later calls"
