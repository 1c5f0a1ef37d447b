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
