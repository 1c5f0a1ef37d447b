"""A model that keeps a cache which Dynamo cannot follow: strict mode refuses it, non-strict mode takes it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow

DECODER = """\
import threading

import torch
from torch import nn


class Cache:
    def __init__(self):
        self.lock = threading.Lock()
        self.keys = []

    def grown(self, key):
        with self.lock:
            self.keys.append(key)
            return torch.cat(self.keys, 1)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(4, 4)

    def forward(self, x):
        cache = Cache()
        for step in (x, x + 1):
            keys = cache.grown(self.key(step))
        return keys.sum(1)


model = Decoder()
example_args = (torch.randn(2, 3, 4),)
"""


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> str:
    return say("trial", DECODER, "--mode", "both")


@pytest.mark.clause("both modes tried")
def test_each_mode_is_a_stage(report: str) -> None:
    assert "export-non-strict" in report
    assert "export-strict" in report


@pytest.mark.clause("the failing frame named")
def test_the_line_that_strict_refuses_is_shown(report: str) -> None:
    assert "self.lock = threading.Lock()" in report


@pytest.mark.clause('the advice is "use strict=False", with proof that it exports and agrees with eager')
def test_non_strict_mode_is_the_advice(report: str) -> None:
    assert "strict=False" in report
    assert "agrees with eager" in report
