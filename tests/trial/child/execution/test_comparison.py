"""Of two tensors that are not the same, the elements that are furthest apart are told with their place."""

from __future__ import annotations

import math

import pytest
import torch

from exportlint.trial.child.execution.comparison import compare

NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("ours", "theirs", "told"),
    [
        ([[1.0, 2.0], [3.0, 4.0]], [[1.5, 2.0], [3.0, 6.0]], ("4 at [1, 1]", "6")),
        ([0.12345678, 1.0], [0.2, 1.0], ("0.1235 at [0]", "0.2")),
        (3, 4, ("3", "4")),
        ([True, False], [True, True], ("False at [1]", "True")),
        ([1.0, NAN, NAN], [9.0, NAN, 0.0], ("nan at [2]", "0")),
        ([INF, 1.0], [INF, 2.0], ("1 at [1]", "2")),
        ([INF], [-INF], ("inf at [0]", "-inf")),
        ([1 + 2j], [1 + 3j], ("1+2j at [0]", "1+3j")),
    ],
)
def test_the_elements_furthest_apart_are_told(ours: object, theirs: object, told: tuple[str, str]) -> None:
    found = compare([("", torch.tensor(ours))], [("", torch.tensor(theirs))])
    assert found
    assert (found.ours, found.theirs) == told


def test_what_is_the_same_but_for_rounding_and_for_what_is_no_number_is_no_difference() -> None:
    one = torch.tensor([1.0, NAN, INF])
    assert compare([("", one)], [("", one * (1 + 1e-6))]) is None
