"""A break and a recompilation at one line are two findings, each beside the suspicion that it confirms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from processes import exportlint

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

COUNTS = """\
import torch
from torch import nn


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = 0

    def forward(self, x, n):
        self.seen += int(n.sum())
        return x * self.seen


model = Counts().eval()
example_args = (torch.ones(2, 3), torch.tensor([3, 1]))
"""


def test_what_compiles_again_is_told_beside_a_break_of_its_line(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(COUNTS, "utf-8")
    asked = ("trial", "net.py", "--for", "compile", "--backend", "eager", "--output-format", "concise")
    again, breaks = exportlint(tmp_path, *asked).stdout.splitlines()[:2]
    assert again.startswith("net.py:11:9: error[state-on-self] ")
    assert "compiles again in each call" in again
    assert breaks.startswith("net.py:11:22: warning[tensor-as-python-number] ")
    assert "torch.compile breaks the graph here" in breaks


IN_LOOP = """\
import torch
from torch import nn


class Part(nn.Module):
    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return x + 1


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Part(), Part()])

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x * 3


model = Whole().eval()
example_args = (torch.ones(2, 3),)
"""


def test_of_a_break_in_what_a_loop_calls_the_function_around_the_loop_is_left_to_python(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(IN_LOOP, "utf-8")
    asked = ("trial", "net.py", "--for", "compile", "--backend", "eager", "--output-format", "concise")
    told = exportlint(tmp_path, *asked).stdout.splitlines()[0]
    assert told.startswith("net.py:7:12: warning[data-dependent-branch] ")
    assert "leaves the whole `forward` (line 17), which calls this, to Python" in told
