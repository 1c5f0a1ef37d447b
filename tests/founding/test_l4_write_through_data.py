"""A tensor is written through `.data`, which the tracer does not see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

BLANK = """\
import torch
from torch import nn


class Blank(nn.Module):
    def forward(self, tokens, padding):
        rows = tokens * 2
        rows.data[padding] = 0.0
        return rows.sum(1)


model = Blank()
example_args = (torch.randn(3, 4), torch.tensor([True, False, False]))
"""


@pytest.mark.clause("flag in both modes with what really happens in each")
def test_non_strict_refuses_and_strict_is_silently_wrong(say: Callable[..., str]) -> None:
    found = say("check", BLANK, "--mode", "both")
    assert "error[tensor-data-access] `rows.data[padding] = 0.0` writes into a tensor behind the tracer's back" in found
    said = " ".join(found.split())
    assert "in non-strict mode refuses to export it" in said
    assert "in strict mode exports it and the program computes something else, silently" in said
    assert "error[tensor-data-access]" in say("check", BLANK, "--mode", "non-strict")
    assert "error[tensor-data-access]" in say("check", BLANK, "--mode", "strict")


@pytest.mark.clause("offer the rewrite")
def test_the_rewrite_without_data_is_offered_and_is_silent(say: Callable[..., str]) -> None:
    assert "`torch.where` or `masked_fill`" in say("check", BLANK)
    rewritten = BLANK.replace("rows.data[padding] = 0.0", "rows = rows.masked_fill(padding[:, None], 0.0)")
    assert "Found nothing" in say("check", rewritten, "--mode", "both")


@pytest.mark.slow
def test_a_trial_shows_what_was_said_of_both_modes(say: Callable[..., str]) -> None:
    tried = say("trial", BLANK, "--mode", "both")
    assert "confirmed: target net.py" in tried
    assert "measured: refused in non-strict, differs in strict" in " ".join(tried.split())
    rewritten = BLANK.replace("rows.data[padding] = 0.0", "rows = rows.masked_fill(padding[:, None], 0.0)")
    assert "agrees with eager" in say("trial", rewritten, "--mode", "both")


@pytest.mark.slow
@pytest.mark.clause("try it")
def test_the_write_is_mended_in_both_modes(say: Callable[..., str]) -> None:
    tried = say("fix", BLANK, "--mode", "both")
    assert "+        rows.detach()[padding] = 0.0" in tried
    ladder = [line.split()[1:] for line in tried.splitlines() if line.startswith("  export-")]
    assert ladder == [["refused", "passed"], ["differs", "passed"]]
