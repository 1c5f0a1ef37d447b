"""Which sides of a selection that is made in data the calls of a model take, in every form that people write."""

from __future__ import annotations

import pytest
import torch

from exportlint.trial.child.execution.inputs.selected_sides import selected_sides
from exportlint.trial.child.loading.loaded import of_values
from exportlint.trial.protocol.target import Target, TargetKind


class Net(torch.nn.Module):
    def __init__(self, select):
        super().__init__()
        self.select = select

    def forward(self, x):
        return self.select(x)


@pytest.mark.parametrize(
    "select",
    [
        lambda x: torch.where(x > 9, -x, x),
        lambda x: torch.where(condition=x > 9, input=-x, other=x),
        lambda x: x.where(x > 9, -x),
        lambda x: x.masked_fill(x > 9, 0),
        lambda x: x.clone().masked_fill_(mask=x > 9, value=0),
        lambda x: torch.cond(x.sum() > 9, lambda y: -y, lambda y: y.clone(), (x,)),
    ],
    ids=["where", "by keyword", "of a tensor", "masked_fill", "in place", "cond"],
)
def test_a_condition_is_seen_true_where_some_input_makes_it_so(select):
    target = Target("net", TargetKind.FIXTURE, "net.py:Net")
    loaded = of_values(target, Net(select), (torch.ones(3),), {}, None)
    small, large = ((torch.full((3,), value),) for value in (1.0, 10.0))
    assert [one[2:] for one in selected_sides(loaded, [(small, {})], 5.0)] == [(False, True)]
    assert [one[2:] for one in selected_sides(loaded, [(small, {}), (large, {})], 5.0)] == [(True, True)]
