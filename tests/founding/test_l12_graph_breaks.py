"""The graph breaks of a model, which torch lists in a log that an environment variable turns on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

# Export takes it; torch.compile breaks its graph: at the print, which runs twice, and at the two calls below.
TALKER = """\
import torch
from torch import nn


def told(x):
    print("shape", x.shape)
    return x


class Talker(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.second = nn.Linear(4, 4)

    def forward(self, x):
        x = told(self.first(x))
        x = told(self.second(x))
        torch._dynamo.graph_break()
        return x * x.mean().item()


model = Talker().eval()
example_args = (torch.ones(2, 4),)
"""


@pytest.fixture(scope="module")
def breaks(say: Callable[..., str]) -> list[dict[str, Any]]:
    report = json.loads(say("trial", TALKER, "--output-format", "json"))
    return [one for one in report["findings"] if one["stage"] == "explain"]


@pytest.mark.clause("every break of `torch._dynamo.explain`, at user lines")
def test_every_break_stands_at_its_line(breaks: list[dict[str, Any]]) -> None:
    assert {one["line"] for one in breaks} == {6, 19, 20}


@pytest.mark.clause("deduplicated")
def test_a_line_that_breaks_twice_is_one(breaks: list[dict[str, Any]]) -> None:
    assert len(breaks) == len({one["line"] for one in breaks})


@pytest.mark.clause("with id and page")
def test_each_break_has_its_id_and_its_page(breaks: list[dict[str, Any]]) -> None:
    pages = {one["line"]: {link["id"]: link["url"] for link in one["links"]} for one in breaks}
    assert pages[6]["GB0059"].endswith("gb0059.html")
    assert all(pages.values())


@pytest.mark.clause("and in the report that people read")
def test_the_report_lists_places_and_ids(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", TALKER).split())
    assert "torch.compile would break the graph at 3 more places: net.py:6 (GB0059), net.py:19 (GB" in report
