"""Every advice for torch.compile is tried: what it is for breaks the graph, or compiles again; with it nothing does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from exportlint.trial.child.compilation.compile_record import CompileRecord
from exportlint.trial.findings.wording.compile_messages import OF_BREAKS, OF_GUARDS
from exportlint.trial.protocol.torch_messages import cause_of_break

pytestmark = pytest.mark.slow

Call = Callable[..., Any]
X = torch.tensor([[1.0, 2.0], [3.0, 4.0]])


def broken(call: Call, **settings: bool) -> list[str]:
    """Why Dynamo breaks the graph of it, each reason once."""
    record = CompileRecord()
    with torch._dynamo.config.patch(**settings), record.watching():
        record.compiled(call)(X)
    return list(dict.fromkeys(met.reason for met in record.breaks))


def says(x: torch.Tensor) -> torch.Tensor:
    print(x.shape)  # noqa: T201 - what it is about
    return x * 2


def says_in_eager(x: torch.Tensor) -> torch.Tensor:
    if not torch.compiler.is_compiling():
        print(x.shape)  # noqa: T201 - what it is about
    return x * 2


def branches(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.sum() > 0 else x - 1


def selects(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x.sum() > 0, x * 2, x - 1)


def conditions(x: torch.Tensor) -> torch.Tensor:
    return torch.cond(x.sum() > 0, lambda y: y * 2, lambda y: y - 1, (x,))


def asserts(x: torch.Tensor) -> torch.Tensor:
    assert x.sum() > 0, x.shape
    return x * 2


def asserts_in_data(x: torch.Tensor) -> torch.Tensor:
    torch._assert_async(x.sum() > 0)
    return x * 2


def reads(x: torch.Tensor) -> torch.Tensor:
    return x * x.max().item()


def stays_tensor(x: torch.Tensor) -> torch.Tensor:
    return x * x.max()


def selects_rows(x: torch.Tensor) -> torch.Tensor:
    return x[x > 1].sum()


def masks(x: torch.Tensor) -> torch.Tensor:
    return torch.where(x > 1, x, 0.0).sum()


def recurs(x: torch.Tensor) -> torch.Tensor:
    return LAYER(x.new_ones(2, 3))[0]


LAYER = torch.nn.GRU(3, 2)


def forced(x: torch.Tensor) -> torch.Tensor:
    torch._dynamo.graph_break()
    return x * 2


def plain(x: torch.Tensor) -> torch.Tensor:
    return x * 2


# The cause, what breaks for it, what the advice makes of it, and the setting that is advised.
BREAKS: list[tuple[str, Call, Call, dict[str, bool]]] = [
    ("says", says, says_in_eager, {}),
    ("branch", branches, selects, {}),
    ("branch", branches, conditions, {}),
    ("assertion", asserts, asserts_in_data, {}),
    ("number", reads, stays_tensor, {}),
    ("number", reads, reads, {"capture_scalar_outputs": True}),
    ("size", selects_rows, masks, {}),
    ("size", selects_rows, selects_rows, {"capture_dynamic_output_shape_ops": True}),
    ("recurrent", recurs, recurs, {"allow_rnn": True}),
    ("forced", forced, plain, {}),
]


@pytest.mark.parametrize(("cause", "before", "after", "settings"), BREAKS)
def test_with_the_advice_there_is_one_graph(cause: str, before: Call, after: Call, settings: dict[str, bool]) -> None:
    told = "branch" if cause == "assertion" else cause  # which the line tells from a branch
    assert {cause_of_break(one) for one in broken(before)} == {told}
    assert all(name in OF_BREAKS[cause] for name in settings)
    assert broken(after, **settings) == []
    with torch._dynamo.config.patch(**settings):
        torch.testing.assert_close(torch.compile(after, backend="eager")(X), before(X))


def test_every_advice_for_breaks_is_tried() -> None:
    assert {cause for cause, *_ in BREAKS} == set(OF_BREAKS)


# The kind of guard, what is compiled again for it and what the advice makes of it, each as a function that gives the
# `number`th call of one compiled callable.


class Table(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scales = {size: 1.0 / size for size in range(1, 100)}

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * self.scales[x.shape[0]]


class OfSize(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (1.0 / x.shape[0])


class Steps(torch.nn.Module):
    def __init__(self, steps: int | torch.Tensor) -> None:
        super().__init__()
        if isinstance(steps, torch.Tensor):
            self.register_buffer("steps", steps)
        else:
            self.steps = steps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.steps += 1
        return x * self.steps


def rows_of_list(rows: list[torch.Tensor]) -> torch.Tensor:
    return sum((row.relu() for row in rows), torch.zeros(2))


def rows_of_tensor(rows: torch.Tensor) -> torch.Tensor:
    return rows.relu().sum(0)


class Grows(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.kept: list[torch.Tensor] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.kept.append(x.mean())
        return torch.stack(self.kept).sum()


class FixedSize(torch.nn.Module):
    kept: torch.Tensor
    used: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(8))
        self.register_buffer("used", torch.tensor(0))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.kept.index_copy_(0, self.used[None], x.mean()[None])
        self.used += 1
        return torch.where(torch.arange(8) < self.used, self.kept, 0.0).sum()


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x.relu() * 2


def by_word(x: torch.Tensor, word: str) -> torch.Tensor:
    return x.relu() * len(word)


class ByWord(torch.nn.Module):
    def __init__(self, word: str) -> None:
        super().__init__()
        self.scale = len(word)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.relu() * self.scale


def applies(x: torch.Tensor, function: Call) -> torch.Tensor:
    return function(x)


WORDS = [f"word {'!' * number}" for number in range(5)]
DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32]
once = torch.relu


def made_anew() -> Call:
    found: Call = eval("lambda x: x * 2")  # noqa: S307 - our own text: the code is another object each time
    return found


Inputs = Callable[[int], tuple[Any, ...]]
GUARDS: dict[str, tuple[Callable[[], Call], Inputs, Callable[[], Call], Inputs]] = {
    "size": (Table, lambda n: (torch.ones(2 + n, 2),), OfSize, lambda n: (torch.ones(2 + n, 2),)),
    "length": (
        lambda: rows_of_list,
        lambda n: ([torch.ones(2)] * (2 + n),),
        lambda: rows_of_tensor,
        lambda n: (torch.ones(2 + n, 2),),
    ),
    "growing": (Grows, lambda _n: (X,), FixedSize, lambda _n: (X,)),
    "tensor": (
        lambda: doubled,
        lambda n: (X.to(DTYPES[n]),),
        lambda: doubled,
        lambda n: (X.to(DTYPES[n]).float(),),
    ),
    "word": (lambda: by_word, lambda n: (X, WORDS[n]), lambda: ByWord(WORDS[0]), lambda _n: (X,)),
    "object": (lambda: applies, lambda _n: (X, made_anew()), lambda: applies, lambda _n: (X, once)),
    "value": (lambda: Steps(0), lambda _n: (X,), lambda: Steps(torch.tensor(0)), lambda _n: (X,)),
}


def compiled_in_last_calls(make: Callable[[], Call], inputs: Callable[[int], tuple[Any, ...]]) -> int:
    torch._dynamo.reset()
    graphs: list[int] = []

    def backend(graph: torch.fx.GraphModule, _inputs: Any) -> Call:
        graphs.append(0)
        return graph.forward

    call = torch.compile(make(), backend=backend)
    for number in range(3):
        call(*inputs(number))
    before = len(graphs)
    for number in range(3, 5):
        call(*inputs(number))
    return len(graphs) - before


@pytest.mark.parametrize("kind", GUARDS)
def test_with_the_advice_nothing_is_compiled_again(kind: str) -> None:
    make, inputs, instead, given = GUARDS[kind]
    assert compiled_in_last_calls(make, inputs) == 2  # in each of the two
    assert compiled_in_last_calls(instead, given) == 0


def test_every_advice_for_guards_is_tried() -> None:
    assert set(GUARDS) == set(OF_GUARDS)
