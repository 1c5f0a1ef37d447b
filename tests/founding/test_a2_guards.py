"""What an export assumed of the inputs is a contract that a person has to read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

POOL = """\
import torch
from torch import nn
from torch.export import Dim


class Pool(nn.Module):
    def forward(self, rows, weights, power: float):
        assert rows.shape[1] >= 3
        if rows.shape[0] + rows.shape[1] > 70:
            return rows[:, :3] * power
        return (rows * weights.unsqueeze(0)) ** power


model = Pool()
example_args = (torch.rand(4, 6), torch.rand(6), 2.0)
dynamic_shapes = {"rows": {0: Dim.AUTO, 1: Dim.AUTO}, "weights": {0: Dim.AUTO}, "power": None}
"""


@pytest.fixture(scope="module")
def data(say: Callable[..., str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(say("trial", POOL, "--output-format", "json"))
    return found


def texts(data: dict[str, Any]) -> dict[str, tuple[str, int]]:
    return {guard["text"]: (guard["path"], guard["line"]) for guard in data["targets"][0]["guards"]}


@pytest.mark.clause("range conditions printed as sentences")
def test_a_range_is_a_sentence_with_its_line(data: dict[str, Any]) -> None:
    assert texts(data)["rows_1, dim 1 of `rows`, dim 0 of `weights`: 3 or more"] == ("net.py", 8)


@pytest.mark.clause("guard conditions printed as sentences")
def test_a_guard_is_a_sentence_with_its_line(data: dict[str, Any]) -> None:
    assert texts(data)["batch + rows_1 must be at most 70"] == ("net.py", 9)
    assert texts(data)["`power` is always 2.0: the export made a constant of it"] == (None, None)


@pytest.mark.clause("in the report and in JSON")
def test_the_report_has_the_same_sentences(data: dict[str, Any]) -> None:
    shown = data["targets"][0]["dynamic_shapes"]
    assert "# batch + rows_1 must be at most 70 (net.py:9: `if rows.shape[0] + rows.shape[1] > 70:`)" in shown
    assert "# `power` is always 2.0" in shown


TRIM = """\
import torch
from torch import nn
from torch.export import Dim


class Trim(nn.Module):
    def forward(self, wave, keep):
        n = keep.item()
        torch._check(n >= 1)
        torch._check(n <= 30)
        return wave[:n] * 2


model = Trim().eval()
example_args = (torch.rand(64), torch.tensor(20))
dynamic_shapes = {"wave": {0: Dim("samples", min=40, max=500)}, "keep": None}
"""
TILES = """\
import torch
from torch import nn
from torch.export import Dim


class Tiles(nn.Module):
    def forward(self, image):
        height, width = image.shape[-2:]
        assert width <= 2 * height, "too wide"
        small = nn.functional.avg_pool2d(image, 2)
        return image - small.repeat_interleave(2, -1).repeat_interleave(2, -2)


model = Tiles().eval()
example_args = (torch.rand(2, 3, 8, 12),)
dynamic_shapes = {"image": {0: Dim.AUTO, 2: Dim.AUTO, 3: Dim.AUTO}}
"""


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        (
            TRIM,
            {
                "samples, dim 0 of `wave`: from 40 to 500": None,
                "n is read from data: from 1 to 30": 8,
            },
        ),
        (
            TILES,
            {
                "image_3 must be at most 2 × image_2": 9,
                "image_3, dim 3 of `image`: a multiple of 2": 11,
            },
        ),
    ],
    ids=["trim", "tiles"],
)
@pytest.mark.clause("by the names that the code has, of sizes and of numbers that are read from data")
def test_each_condition_is_a_sentence_with_its_line(
    say: Callable[..., str], source: str, wanted: dict[str, int | None]
) -> None:
    found = texts(json.loads(say("trial", source, "--output-format", "json")))
    assert {text: found[text][1] for text in wanted} == wanted
