"""What a call gives and leaves besides values is told apart: somebody may count on it."""

from __future__ import annotations

import random
import sys
import warnings
from collections import deque, namedtuple
from typing import TYPE_CHECKING, Any

import pytest
import torch
from torch import nn

from exportlint.trial.child.execution.call_traces import (
    CallTraces,
    left_by,
    other_left,
    other_traces,
    recorded_beside,
    traces_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable

Pair = namedtuple("Pair", ("first", "second"))  # noqa: PYI024 - as models have them
X = torch.arange(6.0).reshape(2, 3)


def traced(function: Callable[[torch.Tensor], Any]) -> CallTraces:
    torch.manual_seed(0)
    random.seed(0)
    given = ((X.clone(),), {})
    with recorded_beside() as beside:
        return traces_of(None, given, function(*given[0]), beside)


def _in_inference_mode(x: torch.Tensor) -> torch.Tensor:
    with torch.inference_mode():
        return x + 1


def _warning(x: torch.Tensor) -> torch.Tensor:
    warnings.warn("no number", stacklevel=1)
    return x + 1


def _writing(x: torch.Tensor) -> torch.Tensor:
    sys.stderr.write("seen")
    return x + 1


DIFFERS: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "a field has no name": (
        lambda x: Pair(x + 1, x + 2),
        lambda x: (x + 1, x + 2),
        "is of the class tuple, and was of Pair",
    ),
    "no list inside": (
        lambda x: {"a": [x + 1]},
        lambda x: {"a": (x + 1,)},
        "['a'] is of the class tuple, and was of list",
    ),
    "the input itself": (lambda x: x.clone(), lambda x: x, "is the memory of the input"),
    "inference mode": (lambda x: x + 1, _in_inference_mode, "made in inference mode now"),
    "torch draws once more": (lambda x: x + 1, lambda x: (torch.rand(1), x + 1)[1], "the random generator of torch"),
    "Python draws once more": (
        lambda x: x + 1,
        lambda x: (random.random(), x + 1)[1],  # noqa: S311 - no secret
        "the random generator of Python",
    ),
}
TOLD: dict[str, tuple[Callable[..., Any], Callable[..., Any], str]] = {
    "no longer the input": (lambda x: x, lambda x: x.clone(), "was the memory of the input"),
    "a warning is gone": (_warning, lambda x: x + 1, "no longer warns: UserWarning: no number"),
    "stderr": (_writing, lambda x: x + 1, "stderr"),
}


@pytest.mark.parametrize("name", DIFFERS)
def test_what_somebody_may_count_on_differs(name: str) -> None:
    before, after, said = DIFFERS[name]
    found = other_traces(traced(before), traced(after), others_drawn=False)
    assert said in found.differs[0]
    assert not any(other_traces(traced(one), traced(one), others_drawn=False).differs for one in (before, after))


@pytest.mark.parametrize("name", TOLD)
def test_what_is_beside_the_results_is_told(name: str) -> None:
    before, after, said = TOLD[name]
    found = other_traces(traced(before), traced(after), others_drawn=False)
    assert said in found.told[0]
    assert not found.differs


def test_a_view_of_the_output_that_raises_is_unproved() -> None:
    found = other_traces(traced(lambda x: x.t().contiguous()), traced(lambda x: (x + 1).t()), others_drawn=False)
    assert "`view(-1)`" in found.unproved[0]


def test_an_iterator_is_no_list() -> None:
    assert not other_traces(traced(lambda x: iter([x + 1])), traced(lambda x: [x + 1]), others_drawn=False).differs


class Held:
    def __init__(self) -> None:
        self.count = 0


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.history: deque[int] = deque(maxlen=3)
        self.stats = Held()
        self._last = 0
        self._hidden = 0

    @property
    def last(self) -> int:
        return self._last


LOG: list[int] = []


def _left_after(change: Callable[[Net], Any]) -> tuple[list[str], list[str]]:
    from exportlint.trial.child.execution.call_traces import globals_now  # noqa: PLC0415 - after LOG is as it was

    LOG.clear()
    plain, changed = Net(), Net()
    begun = globals_now()
    ours = left_by(plain, begun)
    change(changed)
    found = other_left(ours, left_by(changed, begun))
    LOG.clear()
    return list(found.differs), list(found.told)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda net: net.history.append(1), "`history`"),
        (lambda net: setattr(net.stats, "count", 1), "`stats`"),
        (lambda net: setattr(net, "_last", 1), "`last`"),
        (lambda net: LOG.append(1), "the global LOG"),
        (lambda net: setattr(net, "pick", lambda y: y), "cannot be pickled"),
    ],
)
def test_state_that_others_can_read_differs(change: Callable[[Net], Any], said: str) -> None:
    (only,) = _left_after(change)[0]
    assert said in only


def test_what_is_private_is_told() -> None:
    differs, told = _left_after(lambda net: setattr(net, "_hidden", 1))
    assert not differs
    assert "`_hidden`" in told[0]
