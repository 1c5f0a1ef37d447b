"""Values that are drawn beside the sample may be none that a model is meant for: a loop may never end on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from trials import tried

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow

# Two parents, drawn anew, are each other's.
WALK = """
import torch


class Net(torch.nn.Module):
    def forward(self, parents, x):
        node = 4
        while node != 0:
            node = int(parents[node])
            x = x * 0.9
        return x


model = Net()
example_args = (torch.tensor([0, 0, 1, 2, 3, 4]), torch.ones(4))
"""


def test_a_loop_that_never_ends_on_drawn_values_is_tried_on_the_sample(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(WALK, "utf-8")
    (report,) = tried(file).values()
    stages = {one.name: one for one in report.stages}
    assert stages["eager"].status == "passed"
    assert stages["eager"].detail == "did not end in time on values drawn anew, so only the sample was called"
    assert stages["export-non-strict"].status == "refused"
