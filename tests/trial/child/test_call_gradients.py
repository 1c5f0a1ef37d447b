"""Which gradients of two runs are other ones, and which differ by rounding alone."""

from __future__ import annotations

import torch

from exportlint.trial.child.soundness.call_gradients import first_difference


def test_what_is_zero_by_arithmetic_is_what_rounding_leaves() -> None:
    """The bias in front of a batch norm has no gradient; a sum of large parts gives other last digits in each order."""
    ours = {"bias": torch.tensor([1e-6, -2e-6]), "weight": torch.tensor([40.0, -3.0])}
    theirs = {"bias": torch.tensor([-1e-6, 4e-6]), "weight": torch.tensor([40.0, -3.0])}
    assert first_difference(ours, theirs) is None


def test_where_no_gradient_is_large_a_small_one_counts() -> None:
    ours, theirs = {"bias": torch.tensor([1e-6, -2e-6])}, {"bias": torch.tensor([-1e-6, 4e-6])}
    found = first_difference(ours, theirs)
    assert found is not None
    assert found.name == "bias"


def test_one_that_is_lost_is_another() -> None:
    ours = {"bias": torch.tensor([1e-2]), "weight": torch.tensor([40.0])}
    found = first_difference(ours, {"weight": torch.tensor([40.0])})
    assert found is not None
    assert found.name == "bias"
