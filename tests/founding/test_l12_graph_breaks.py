"""The graph breaks of a model, which torch lists in a log that an environment variable turns on."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

# Export takes it; torch.compile breaks its graph: in `picked`, which runs twice, and at the last two lines.
PICKER = """\
import torch
from torch import nn


def picked(x):
    return x[x > 0].sum()


class Picker(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)

    def forward(self, x):
        y = self.first(x)
        total = picked(x) + picked(y)
        scale = y.mean().item()
        return total * scale + torch.nonzero(x).sum()


model = Picker().eval()
example_args = (torch.ones(2, 4),)
"""


@pytest.fixture(scope="module")
def breaks(say: Callable[..., str]) -> list[dict[str, Any]]:
    report = json.loads(say("trial", PICKER, "--output-format", "json"))
    return [one for one in report["findings"] if one["stage"] == "explain"]


@pytest.mark.clause("every break of `torch._dynamo.explain`, at user lines")
def test_every_break_stands_at_its_line(breaks: list[dict[str, Any]]) -> None:
    assert {one["line"] for one in breaks} == {6, 17, 18}


@pytest.mark.clause("deduplicated")
def test_a_line_that_breaks_twice_is_one(breaks: list[dict[str, Any]]) -> None:
    assert len(breaks) == len({one["line"] for one in breaks})


@pytest.mark.clause("with id and page")
def test_each_break_has_its_id_and_its_page(breaks: list[dict[str, Any]]) -> None:
    pages = {one["line"]: {link["id"]: link["url"] for link in one["links"]} for one in breaks}
    assert pages[17]["GB0124"].endswith("gb0124.html")
    assert all(pages.values())


@pytest.mark.clause("and in the report that people read")
def test_the_report_lists_places_and_ids(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", PICKER).split())
    assert "torch.compile would break the graph at 3 places: net.py:6 (GB" in report


REFUSED = """
import torch
from torch import nn


class Judge(nn.Module):
    def forward(self, marks):
        if marks.sum() > 0:
            marks = marks * 2
        least = marks.min().item()
        return marks - least


model = Judge()
example_args = (torch.ones(3),)
"""


def test_the_text_counts_the_breaks_that_the_ladder_counts(say: Callable[..., str]) -> None:
    """A break at a line that is refused is told there."""
    report = " ".join(say("trial", REFUSED).split())
    assert " graph breaks at 2 places " in report
    assert "break the graph at 2 places: 1 of them stands above; net.py:10 (GB0124)" in report
    assert "graph-break GB0170 " in report
    assert "graph-break GB0035 " not in report, "another break of the same rule"


RADIO = """
import torch
from torch import nn


def floor(x):
    print("floor")
    return x.abs().mean()


class Radio(nn.Module):
    def forward(self, signal):
        print("in")
        signal = signal * signal.max().item()
        print("mid")
        signal = signal + floor(signal)
        torch._dynamo.graph_break()
        print("between")
        if signal.sum() > 0:
            signal = signal - 1
        print("out")
        return signal


model = Radio().eval()
example_args = (torch.randn(2, 8),)
"""


def test_of_many_breaks_each_is_told_once(say: Callable[..., str]) -> None:
    report = " ".join(say("trial", RADIO).split())
    number, above, listed = re.findall(
        r"break the graph at (\d+) places: (\d+) of them stand above; (.*?\))(?! ?,)", report
    )[0]
    assert int(number) >= 5
    assert f" graph breaks at {number} places " in report
    assert int(above) + len(re.findall(r"net\.py:\d+", listed)) == int(number)
