"""A call of the model in eager, as the calls of its modules, each with its time."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import torch
from torch import nn

from exportlint.trial.child.compilation import module_times as times_of
from exportlint.trial.child.compilation.module_times import module_times


class Slow(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        time.sleep(0.01)
        return x


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pair = nn.Sequential(Slow(), nn.ReLU())
        self.unused = nn.Linear(2, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pair(self.pair(x))


def rows(model: Any) -> list[dict[str, Any]]:
    return module_times(model, lambda: model(torch.ones(2)))


def test_each_call_has_its_place_and_its_time() -> None:
    net = Net()
    found = rows(net)
    calls = [(0, "", "Net"), *2 * [(1, "pair", "Sequential"), (2, "pair.0", "Slow"), (2, "pair.1", "ReLU")]]
    assert [(one["depth"], one["name"], one["class"]) for one in found] == calls
    whole, first, slow, quick, *_ = (one["ms"] for one in found)
    # Of each run, and so of the medians: what calls takes longer than what it calls.
    assert whole > first > slow >= 10
    assert slow > quick
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in net.modules())


def test_the_user_s_own_code_is_named_and_that_of_libraries_is_not() -> None:
    net, pair, slow, *_ = rows(Net())
    lines = Path(__file__).read_text("utf-8").split("\n")
    assert (net["path"], pair["path"]) == (__file__, None)
    assert lines[slow["line"] - 1].strip().startswith("def forward")
    assert lines[slow["end_line"] - 1].strip() == "return x"


def test_what_is_no_module_has_no_rows() -> None:
    assert rows(lambda x: x) == []


def test_a_model_of_very_many_calls_is_shown_less_deeply() -> None:
    wide = nn.Sequential(*(nn.Sequential(nn.ReLU(), nn.ReLU()) for _ in range(times_of._MOST // 2)))
    assert {one["depth"] for one in rows(wide)} == {0, 1}
