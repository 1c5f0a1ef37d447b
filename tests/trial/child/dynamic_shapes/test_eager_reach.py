"""How far eager goes, which no export sees: the exact end, with the line that raises, is part of a proposal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from sources import MODELS

from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors
from exportlint.trial.child.dynamic_shapes.proposal import Wish, proposed
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.loading.from_target import load
from exportlint.trial.discovery import from_text
from exportlint.trial.findings.wording.size_messages import shapes_text

if TYPE_CHECKING:
    from exportlint.trial.child.dynamic_shapes.proposal import Proposed

pytestmark = pytest.mark.slow

FILE = MODELS / "eager_ends.py"


@pytest.fixture(scope="module")
def proposals() -> dict[str, Proposed]:
    found = {}
    for target in from_text(str(FILE)):
        loaded = load(target)
        inputs = inputs_of(loaded, 0)
        tensors = input_tensors(loaded.model(), inputs)
        free: dict[Any, Any] = {(one.label, dim): None for one in tensors for dim in range(one.value.dim())}
        found[target.name.rpartition(":")[2]] = proposed(Wish(loaded, inputs, "non-strict", free, memory=256 << 20))
    return found


def facts(outcome: Proposed, kind: str) -> list[dict[str, Any]]:
    return [fact for fact in outcome.facts if fact["fact"] == kind]


@pytest.mark.parametrize(
    ("name", "declared"),
    [
        ("Places", 'ids_1 = Dim("ids_1", min=1, max=6)'),
        ("Board", 'length = Dim("length", min=1, max=7)'),
        ("Landmarks", 'face_1 = Dim("face_1", min=6)'),
        ("Slots", 'x_0 = Dim("x_0", min=1, max=32)'),
        ("Pairs", 'points_0 = Dim("points_0", min=1)'),
    ],
)
def test_a_range_ends_where_eager_ends(proposals: dict[str, Proposed], name: str, declared: str) -> None:
    assert declared in (proposals[name].code or "")


@pytest.mark.parametrize(
    ("name", "end", "beyond", "says", "line"),
    [
        ("Places", [None, 6], [["ids_1", 7]], "IndexError: index out of range in self", "self.places("),
        ("Board", [None, 5], [["board_0", 6], ["length", 8]], "IndexError: index out of range in self", "self.cells("),
        ("Landmarks", [6, None], [["face_1", 5]], "IndexError: index 5 is out of bounds", "self.lips"),
        ("Slots", [None, 32], [["x_0", 33]], "IndexError: index_copy_(): index 32 is out of", "index_copy_"),
    ],
)
def test_the_end_is_shown_by_what_eager_raises_beyond(
    proposals: dict[str, Proposed], name: str, end: list[int | None], beyond: list[list[Any]], says: str, line: str
) -> None:
    (one,) = (fact for fact in facts(proposals[name], "eager-ends") if fact["range"] == end)
    assert one["beyond"] == beyond
    assert one["eager_says"].startswith(says)
    assert one["place"][0] == str(FILE)
    assert line in one["place"][2]


def test_without_an_end_it_is_said_how_far_was_tried_and_that_memory_ended_it(proposals: dict[str, Proposed]) -> None:
    (points,) = facts(proposals["Pairs"], "range")
    assert points["range"][1] is None
    assert points["memory"] == 256 << 20
    assert 256 <= points["tried"] <= 1100  # 1024 times as many take a quarter of a GB
    assert f"tried up to {points['tried']}, as more takes over 0.3 GB of memory" in shapes_text(
        proposals["Pairs"].found
    )


def test_the_program_ran_at_the_end(proposals: dict[str, Proposed]) -> None:
    (root,) = (one for one, name in proposals["Places"].called.items() if name == "ids_1")
    assert [one.right for one in proposals["Places"].tried if one.pick.get(root) == 6].count(True) >= 1


def test_values_that_do_not_fit_are_no_end_of_a_size(proposals: dict[str, Proposed]) -> None:
    assert facts(proposals["Bonds"], "eager-ends") == []
    assert min(fact["range"][0] for fact in facts(proposals["Bonds"], "range")) == 2
