"""Looking for what compiles again ends in time, however long a call takes."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch
from torch import nn

from exportlint.trial.child.compilation.input_changes import changes
from exportlint.trial.child.compilation.recurring import recurring
from exportlint.trial.child.loading.loaded import Loaded
from exportlint.trial.protocol.target import Target, TargetKind

pytestmark = pytest.mark.slow


class Adds(nn.Module):
    def forward(self, x):
        return x + 1


LOADED = Loaded(
    Target("adds", TargetKind.MODULE, "adds.py"), Adds, lambda: (torch.ones(2, 3),), dict[str, Any], lambda: None
)


def test_calls_that_there_is_no_time_for_show_nothing() -> None:
    again = next(changes(LOADED, time.monotonic() + 60))
    assert recurring(LOADED, again, 60).is_whole
    assert not recurring(LOADED, again, 0).is_whole
