"""Exceptions and `match` steer the computation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

FINE = """\
import torch
from torch import nn


class Pool(nn.Module):
    def rows(self, x):
        if x.dim() != 2:
            raise ValueError("not rows")
        return x

    def forward(self, x, how="mean"):
        try:
            x = self.rows(x)
        except ValueError:
            x = x.flatten(1)
        match how:
            case "mean":
                return x.mean(1)
            case "max":
                return x.amax(1)
        return x


model = Pool()
example_args = (torch.randn(2, 3, 4),)
"""
SWALLOWED = """\
import torch
from torch import nn


class Scale(nn.Module):
    def forward(self, x: torch.Tensor):
        try:
            if x.max() > 1:
                x = x / x.max()
        except Exception:
            x = x * 0
        return x


model = Scale()
example_args = (torch.full((3,), 2.0),)
"""


@pytest.mark.clause("silent where torch exports them correctly")
def test_exceptions_that_are_raised_and_caught_and_match_are_silent(say: Callable[..., str]) -> None:
    assert "Found nothing" in say("check", FINE, "--mode", "both")


@pytest.mark.slow
def test_torch_does_export_them_in_both_modes(say: Callable[..., str]) -> None:
    assert "agrees with eager" in say("trial", FINE, "--mode", "both")


@pytest.mark.clause("loud for the broad `except` that swallows the tracer's error")
def test_a_broad_except_around_data_dependent_code_is_an_error(say: Callable[..., str]) -> None:
    found = say("check", SWALLOWED)
    assert "error[swallowed-tracer-error] `except Exception` also catches the tracer's refusal" in found
    assert "exports it and the program computes something else, silently" in " ".join(found.split())
    assert "net.py:10:16" in found


@pytest.mark.slow
def test_a_trial_shows_the_difference(say: Callable[..., str]) -> None:
    found = say("trial", SWALLOWED)
    assert "error[swallowed-tracer-error]" in found
    assert "confirmed: target net.py" in found


# In a helper, and under `contextlib.suppress`.

IN_HELPER = """\
import torch
from torch import nn


class Denoise(nn.Module):
    def limit(self, h):
        if bool((h > 0).any()):
            return h / h.max()
        return h

    def forward(self, h):
        try:
            h = self.limit(h)
        except Exception:
            h = torch.zeros_like(h)
        return h


model = Denoise()
example_args = (torch.tensor([2.0, 3.0]),)
"""
SUPPRESSED = """\
from contextlib import suppress

import torch
from torch import nn


def scaled(h):
    peak = h.abs().max().item()
    if peak > 1.0:
        return h / peak
    return h


class Level(nn.Module):
    def forward(self, h):
        out = h * 0
        with suppress(RuntimeError, ValueError):
            out = scaled(h)
        return out


model = Level()
example_args = (torch.tensor([2.0, 3.0]),)
"""


@pytest.mark.parametrize(
    ("source", "place"), [(IN_HELPER, "net.py:14:16"), (SUPPRESSED, "net.py:17:14")], ids=["helper", "suppress"]
)
@pytest.mark.clause("loud for the broad `except` or `suppress` around a helper that decides by data")
def test_what_a_helper_decides_below_a_broad_handler_is_an_error(
    say: Callable[..., str], source: str, place: str
) -> None:
    assert f"{place}: error[swallowed-tracer-error]" in say("check", source, "--output-format", "concise")


@pytest.mark.slow
@pytest.mark.parametrize("source", [IN_HELPER, SUPPRESSED], ids=["helper", "suppress"])
def test_a_trial_shows_what_the_helper_lost(say: Callable[..., str], source: str) -> None:
    found = say("trial", source)
    assert "error[swallowed-tracer-error]" in found
    assert "confirmed: target net.py" in found


HELPER = """\
import torch
from torch import nn


class Gain(nn.Module):
    def scaled(self, sound):
        try:
            if bool((sound > 100).any()):
                return sound / 2
            return sound * 2
        except Exception:
            return sound * 2

    def forward(self, sound):
        return self.scaled(sound)


model = Gain().eval()
example_args = (torch.randn(4),)
"""


@pytest.mark.slow
@pytest.mark.clause("loud for the broad `except` that swallows the tracer's error")
def test_a_handler_that_no_sample_reached_is_loud_and_no_verdict_hides_it(say: Callable[..., str]) -> None:
    found = say("trial", HELPER)
    assert "exports and agrees with eager as far as it was tried in non-strict mode" in found
    assert "nothing that was tried could show what is said of net.py:11" in found
    assert "error[swallowed-tracer-error] `except Exception` also catches" in found
    assert "Exported. Next" not in found
