"""Sample inputs that never reach a branch: the program was never compared with eager there."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

TAGGER = """\
import torch
from torch import nn


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.score = nn.Linear(4, 4)

    def forward(self, x, lengths=None):
        if self.training:
            x = x + torch.randn_like(x)
        if lengths is not None:
            x = self.cut(x, lengths)
        if x.shape[0] > 8:
            return torch.cat([self.score(part) for part in x.split(8)])
        return self.score(x)

    def cut(self, x, lengths):
        if lengths.max() < x.shape[1]:
            x = x[:, : int(lengths.max())]
        return x

    def loss(self, x, y):
        return (self(x) - y).square().mean()


model = Tagger().eval()
example_args = (torch.randn(2, 5, 4),)
"""


@pytest.fixture(scope="module")
def findings(say: Callable[..., str]) -> list[dict[str, Any]]:
    report = json.loads(say("trial", TAGGER, "--quick", "--show-suspected", "--output-format", "json"))
    return list(report["findings"])


@pytest.fixture(scope="module")
def listing(say: Callable[..., str]) -> str:
    return say("trial", TAGGER, "--quick", "--coverage")


@pytest.mark.clause(
    "the lines of the model (and the branches, methods and sizes) that the samples never ran, as one finding per region"
)
def test_each_region_is_a_note_at_its_first_line(findings: list[dict[str, Any]]) -> None:
    regions = [one for one in findings if one["rule"] == "trial-never-ran"]
    assert [(one["line"], one["end_line"]) for one in regions] == [(12, 12), (14, 14), (16, 16), (19, 22)]
    assert {one["severity"] for one in regions} == {"note"}


@pytest.mark.clause("with what input would reach it where that can be read")
def test_each_note_says_what_would_reach_it(findings: list[dict[str, Any]]) -> None:
    training, given, large, method = (one["message"] for one in findings if one["rule"] == "trial-never-ran")
    assert "`self.training` (line 11) was false in every call; needs train mode" in training
    assert "needs a `lengths`" in given
    assert "needs `x.shape[0] > 8`" in large
    assert "`cut` is called at line 14, which never ran" in method


@pytest.mark.clause("`--coverage` shows them in the source")
def test_the_source_is_marked(listing: str) -> None:
    assert "11   |         if self.training:" in listing
    assert "12 ! |             x = x + torch.randn_like(x)" in listing
    assert "def loss" not in listing


@pytest.mark.clause("a suspicion there says that nothing is known")
def test_a_suspicion_there_is_neither_confirmed_nor_cleared(findings: list[dict[str, Any]], listing: str) -> None:
    suspicion = next(one for one in findings if one["line"] == 20)
    assert (suspicion["rule"], suspicion["evidence"]) == ("data-dependent-branch", "suspected")
    assert "no sample of a trial ran this line, so nothing is known of it" in suspicion["message"]
    assert "suspected, not known: data-dependent-branch" in listing


STATION = """\
import torch
from torch import nn


class Station(nn.Module):
    def __init__(self, robust=False):
        super().__init__()
        self.robust = robust
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(2)])

    def clean(self, x, kind):
        match kind:
            case "clip":
                return x.clamp(-3, 3)
            case "zero":
                return torch.nan_to_num(x)
            case _:
                return x

    def forward(self, x, kind: str = "clip"):
        x = self.clean(x, kind)
        for layer in self.layers:
            if self.robust:
                x = x.sign() * x.abs().sqrt()
            x = layer(x)
        try:
            return x.unflatten(1, (3, 1))
        except ValueError:
            return x.sum(-1)


model = Station().eval()
example_args = (torch.randn(4, 3),)
"""
BILL = """\
import torch
from torch import nn


def tiers(usage, rates):
    cost = torch.zeros_like(usage)
    for number, rate in enumerate(rates):
        if number == 5:
            cost = cost - rate
        cost = cost + usage * rate
    return cost


class Bill(nn.Module):
    def forward(self, usage, *, discount: float | None = None):
        cost = tiers(usage, [0.1, 0.2])
        if discount:
            cost = cost * (1 - discount)
            if cost.sum() > 100:
                cost = cost.clamp(max=100)
        return cost


model = Bill().eval()
example_args = (torch.rand(5),)
"""


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (
            STATION,
            {
                16: "needs `kind` to match `'zero'`",
                18: "needs `kind` to match no case above",
                24: "needs `self.robust` (line 23), an attribute of the model",
                29: "needs ValueError to be raised behind the `try` of line 26",
            },
        ),
        (BILL, {9: "needs `number == 5` (line 8)", 18: "needs `discount` (line 17)"}),
    ],
    ids=["station", "bill"],
)
@pytest.mark.clause("with what input would reach it where that can be read")
def test_regions_of_cases_handlers_loops_and_functions(
    say: Callable[..., str], source: str, wanted: dict[int, str]
) -> None:
    report = json.loads(say("trial", source, "--quick", "--show-suspected", "--output-format", "json"))
    regions = {one["line"]: one["message"] for one in report["findings"] if one["rule"] == "trial-never-ran"}
    assert set(regions) == set(wanted)
    assert all(text in regions[line] for line, text in wanted.items())
