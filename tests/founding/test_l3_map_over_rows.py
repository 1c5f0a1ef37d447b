"""A function with a branch runs on each row of a tensor: a map with a nested cond."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = """\
import torch
from torch import nn


class Rows(nn.Module):
    def forward(self, rows, shift):
"""
BODY = """\
        def one(row, shift):
            return torch.cond(row.sum() > 0, lambda t: t + shift, lambda t: t - shift, (row,))

        return {call}(one, rows, shift)


model = Rows()
example_args = (torch.randn(3, 4), torch.randn(4))
"""
EXISTING = HEAD + "        from functorch.experimental.control_flow import map\n\n" + BODY.format(call="map")


@pytest.mark.parametrize(
    ("call", "says"), [("torch.map", "does not exist"), ("torch.ops.higher_order.map", "is of the inner namespace")]
)
@pytest.mark.clause("offer the spelling that exists in the target version")
def test_a_name_that_does_not_exist_is_an_error_with_the_one_that_does(
    say: Callable[..., str], call: str, says: str
) -> None:
    found = " ".join(say("check", HEAD + BODY.format(call=call)).split())
    assert f"error[old-export-api] `{call}` {says}" in found
    assert "use `functorch.experimental.control_flow.map(f, xs, *args)`, in which `torch.cond` may stand" in found


def test_the_spelling_that_is_offered_is_silent_and_its_branches_are_judged(say: Callable[..., str]) -> None:
    assert "Found nothing" in say("check", EXISTING)
    broken = EXISTING.replace("lambda t: t - shift", "lambda t: t")
    assert "error[cond-misuse] the branch returns its operand `t` itself" in say("check", broken)


@pytest.mark.slow
def test_the_spelling_that_is_offered_exports_and_agrees(say: Callable[..., str]) -> None:
    assert "agrees with eager" in say("trial", EXISTING, "--mode", "both")


LOOP = """\
import torch
from torch import nn
from torch.export import Dim


class PerSample(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)
        self.other = nn.Linear(4, 3)

    def forward(self, batch):
        rows = []
        for row in batch:
            if row.sum() > 0:
                y = self.lin(row)
            else:
                y = self.other(row)
            rows.append(y)
        return torch.stack(rows)


model = PerSample()
example_args = (torch.randn(5, 4),)
dynamic_shapes = {"batch": {0: Dim("n", min=2, max=64)}}
"""
MAPPED = """\
        def one(row):
            return torch.cond(row.sum() > 0, self.lin, self.other, (row,))

        return map(one, batch)
"""


@pytest.mark.slow
@pytest.mark.clause("map offered for a loop over rows where it is right")
def test_a_loop_over_rows_is_told_of_map_which_takes_any_number_of_them(say: Callable[..., str]) -> None:
    assert "`functorch.experimental.control_flow.map(f, x)`" in " ".join(say("check", LOOP).split())
    head, _, rest = LOOP.partition("        rows = []\n")
    mapped = "from functorch.experimental.control_flow import map\n" + head + MAPPED + rest.partition("(rows)\n")[2]
    found = say("trial", mapped)
    assert "agrees with eager" in found
    assert "agrees for n 2," in found
