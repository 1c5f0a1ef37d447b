"""`torch.cond` has rules of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

HEAD = """\
import torch
from torch import nn

SEEN = []
"""
NET = """

class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(4, 4)
        self.taken = []
        self.register_buffer("count", torch.zeros(()))

    def up(self, t):
        self.taken.append(1)
        return t * 2

    def forward(self, x):
"""
# The call, and what is said at which part of its line.
BROKEN = {
    "predicate": ('torch.cond("on", lambda t: t * 2, lambda t: t - 1, (x,))', "the predicate", '"on"'),
    "operand": ("torch.cond(x.sum() > 0, lambda t, k: t * k, lambda t, k: t - k, (x, 3))", "the operand `3`", "3)"),
    "operands": ("torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t - 1, x)", "are one tensor, not a tuple", "x)"),
    "signature": ("torch.cond(x.sum() > 0, lambda t: t * 2, lambda: x - 1, (x,))", "takes 0 arguments", "lambda: x"),
    "rank": ("torch.cond(x.sum() > 0, lambda t: t.sum(), lambda t: t - 1, (x,))", "different rank", "lambda t: t - 1"),
    "dtype": (
        "torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t.long() * 2, (x,))",
        "different dtype",
        "lambda t: t.l",
    ),
    "itself": ("torch.cond(x.sum() > 0, lambda t: t * 2, lambda t: t, (x,))", "returns its operand", "lambda t: t, (x"),
    "input": (
        "torch.cond(x.sum() > 0, lambda t: t.add_(1) * 2, lambda t: t - 1, (x,))",
        "writes into its operand",
        "lambda t: t.a",
    ),
    "buffer": (
        "torch.cond(x.sum() > 0, lambda t: t * self.count.add_(1), lambda t: t - 1, (x,))",
        "writes into a tensor from outside",
        "lambda t: t * s",
    ),
    "global": (
        "torch.cond(x.sum() > 0, lambda t: (SEEN.append(1), t * 2)[1], lambda t: t - 1, (x,))",
        "changes a container from outside",
        "lambda t: (S",
    ),
    "list of the module": (
        "torch.cond(x.sum() > 0, self.up, lambda t: t - 1, (x,))",
        "changes a container from outside: `self.taken.append(1)`",
        "self.up",
    ),
}


@pytest.fixture(scope="module")
def found(say: Callable[..., str]) -> list[str]:
    """What is said of a file with a model for each broken rule."""
    nets = [f"{NET.format(name=f'Net{i}')}        return {call}\n" for i, (call, _, _) in enumerate(BROKEN.values())]
    return say("check", HEAD + "".join(nets), "--mode", "both", "--output-format", "concise").splitlines()


@pytest.mark.clause("each broken rule is its own message at its own place")
def test_each_broken_rule_is_one_finding_at_the_part_that_breaks_it(found: list[str]) -> None:
    first, height = HEAD.count("\n"), NET.count("\n") + 1
    *findings, summary = found
    assert summary.startswith(f"Found {len(BROKEN)} errors")
    for i, (finding, (call, message, part)) in enumerate(zip(findings, BROKEN.values(), strict=True), 1):
        column = len("        return ") + call.index(part) + 1
        assert finding.startswith(f"net.py:{first + i * height}:{column}: error[cond-misuse]"), finding
        assert message in finding


@pytest.mark.clause("closures over tensors, numbers and methods, which older pages forbid and torch takes, are fine")
def test_what_torch_takes_is_silent(say: Callable[..., str]) -> None:
    body = """\
        shift = x.mean()
        own = []

        def yes(t):
            parts = []
            parts.append(t * 2 + shift)
            return torch.cat(parts)

        return torch.cond(x.sum() > 0, yes, lambda t: self.scale(t) - len(own), (x,))
"""
    assert "Found nothing" in say("check", HEAD + NET.format(name="Net") + body, "--mode", "both")


KETTLE = """\
import torch
from torch import nn


def heat(water, amount):
    return water


def cool(water):
    return water - 1.0


class Kettle(nn.Module):
    def forward(self, water):
        return torch.cond(water.mean() > 0, heat, cool, [water])


model = Kettle()
example_args = (torch.randn(3),)
"""


@pytest.mark.slow
@pytest.mark.clause("of several broken rules at one call the one that torch speaks of is the one that is confirmed")
def test_a_wrong_number_of_arguments_is_not_confirmed_as_an_alias(say: Callable[..., str]) -> None:
    said = say("trial", KETTLE, "--output-format", "concise").splitlines()
    tried = [line for line in said if "[cond-misuse]" in line and "tried: refused in either mode" in line]
    assert len(tried) == 1
    assert "the branch takes 2 arguments, and 1 operand is given" in tried[0]


FLAGS = """\
import torch
from torch import nn


class Gate(nn.Module):
    def forward(self, x):
        flags = torch.stack([x.sum() > 0, x.max() > 1])
        return torch.cond(flags, lambda t: t.sin(), lambda t: t.cos(), (x,))
"""
MARKS = """\
import torch
from torch import nn


class Valve(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("marks", torch.tensor([0.2, 0.7]))

    def forward(self, x):
        return torch.cond(self.marks < x.mean(), lambda t: t.sin(), lambda t: t.cos(), (x,))
"""
ONE = FLAGS.replace("torch.cond(flags,", "torch.cond(flags.any(),")


@pytest.mark.parametrize(
    ("source", "place"), [(FLAGS, "net.py:8:27"), (MARKS, "net.py:11:27")], ids=["stack", "buffer"]
)
@pytest.mark.clause("a predicate of two elements is found in the source, without a sample")
def test_a_predicate_of_two_elements_is_found_without_a_sample(
    say: Callable[..., str], source: str, place: str
) -> None:
    assert f"{place}: error[cond-misuse] the predicate" in say("check", source, "--output-format", "concise")
    assert "cond-misuse" not in say("check", ONE, "--output-format", "concise")
