"""Numbers that `__init__` alone makes are known while torch traces."""

import pytest
from proposed import proposed

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.flags = torch.tensor([True, False, True])

    def forward(self, x):
        for place, flag in enumerate(self.flags):
            if flag:
                x[:, place] = x[:, place] * 2
        return x
"""
WRITTEN = (
    MODEL
    + """
    def off(self):
        {write}
"""
)


def test_a_loop_goes_through_the_list():
    (after,) = proposed(MODEL, "flag:", "listed-in-init")
    lines = [line.strip() for line in after.splitlines()]
    assert "self.flags_list = self.flags.tolist()" in lines
    assert "for place, flag in enumerate(self.flags_list):" in lines


@pytest.mark.parametrize("write", ["self.flags = None", "self.flags[0] = False", "self.flags.fill_(False)"])
def test_what_somebody_changes_stays(write):
    assert proposed(WRITTEN.format(write=write), "flag:", "listed-in-init") == []
