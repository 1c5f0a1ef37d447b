"""Other sizes beside eager: state keeps step, whatever one of the two does alone."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from exportlint.trial.child.dynamic_shapes.free_export import exported_free
from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors
from exportlint.trial.child.dynamic_shapes.other_sizes import SideBySide, accepts, resized
from exportlint.trial.child.execution.time_limit import OutOfTimeError, in_time
from exportlint.trial.child.loading.loaded import Loaded
from exportlint.trial.protocol.outcomes import NON_STRICT
from exportlint.trial.protocol.target import Target, TargetKind

SAMPLE = (torch.rand(3, 4),), {}


class Counts(torch.nn.Module):
    """A state that every call changes, also one that is refused later."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        if x.shape[0] > 8:
            raise ValueError("too many rows")
        return x * self.calls


class Spins(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        while True:
            x = x + 1


LOADED = Loaded(
    Target("counts", TargetKind.MODULE, "counts.py"), Counts, lambda: SAMPLE[0], dict[str, Any], lambda: None
)


def refused(both: SideBySide, *sizes: int) -> list[bool]:
    """Does eager refuse each of the sizes? The program agrees with it on all others."""
    tried = [both.given(resized(SAMPLE, both.tensors, {("x", 0): rows}), {}) for rows in sizes]
    assert not any(one.wrong for one in tried)
    return [one.refused is not None for one in tried]


def test_state_keeps_step() -> None:
    program, trace = exported_free(LOADED, SAMPLE, NON_STRICT, {("x", 0)})
    assert trace is not None
    (rows,) = trace.roots()
    both = SideBySide(LOADED, program, SAMPLE, input_tensors(Counts(), SAMPLE))
    assert refused(both, 5, 9, 4) == [False, True, False]
    both.repeated(trace, {rows: 6})
    assert refused(both, 6, 2) == [False, False]
    again = SideBySide(LOADED, program, SAMPLE, input_tensors(Counts(), SAMPLE))
    assert refused(again, 5) == [False]


def test_the_end_of_the_time_is_no_refusal_of_eager() -> None:
    with pytest.raises(OutOfTimeError), in_time(1):
        accepts(Spins(), SAMPLE)
