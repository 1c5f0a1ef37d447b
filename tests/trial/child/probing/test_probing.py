"""Values that take a model other ways, and two values side by side where they differ most."""

from __future__ import annotations

import pytest
import torch

from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.stages.jit_trace import inputs_in_words, probing_inputs, values_beside

INF = float("inf")


@pytest.mark.parametrize(
    ("sample", "left_out"),
    [
        pytest.param(torch.randn(3, 2), {"masks all True", "masks all False", "masks with every other value True"}),
        pytest.param(torch.tensor([5, 7, 9]), {"the sample's values, negated", "the sample's values times 100"}),
        pytest.param(torch.ones(2, 2), {"ones", "masks all True"}),
    ],
)
def test_what_leaves_the_sample_as_it_is_is_no_other_value(sample: torch.Tensor, left_out: set[str]) -> None:
    made = dict(probing_inputs(((sample,), {})))
    assert not any(torch.equal(inputs[0][0], sample) for inputs in made.values())
    assert made.keys().isdisjoint(left_out)
    assert "zeros" in made


def test_values_without_an_order_are_left_and_shown_by_their_kind() -> None:
    inputs = (torch.randn(3, 3, dtype=torch.complex64), torch.eye(3).to_sparse()), {}
    assert all(changed[0][1].is_sparse for _, changed in probing_inputs(inputs))
    assert inputs_in_words(inputs) == "complex64[3, 3], float32[3, 3]"


@pytest.mark.parametrize(
    ("ours", "theirs", "at"),
    [
        ([-INF, 1.0, 2.0], [-INF, 1.0, 5.0], "[2]"),
        ([float("nan"), 1.0, 2.0], [float("nan"), 3.0, 2.0], "[1]"),
        ([1.0, 1.0, 2.0], [9.0, float("nan"), 2.0], "[1]"),
    ],
)
def test_the_place_is_one_at_which_the_values_differ(ours: list[float], theirs: list[float], at: str) -> None:
    found = values_beside(*(snapshot(torch.tensor(values)) for values in (ours, theirs, ours)))
    assert found["output"] == at
