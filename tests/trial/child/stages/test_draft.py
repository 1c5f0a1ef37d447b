"""draft_export takes the sides that the model's own weights take, and its issues are the same in every run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sources import line_of
from trials import tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

NET = """
import torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.arange(1.0, 9.0))

    def forward(self, x):
        if self.scale.sum() == 36:
            if x.sum() > 8:
                return x * 2
            return x
        if x.sum() > 9:
            return x * 3
        return x + 1

    @staticmethod
    def inputs():
        return (torch.ones(8),)
"""


def test_the_side_that_the_weights_take_is_drafted(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(NET, "utf-8")
    (report,) = tried(f"{file}:Net").values()
    draft = next(stage for stage in report.stages if stage.name == "draft")
    drafted = [seen.frames[-1].line for seen in draft.observations]
    assert drafted == [line_of("scale.sum", NET), line_of("x.sum() > 8", NET)]
