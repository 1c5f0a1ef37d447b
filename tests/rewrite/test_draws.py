"""Draws of torch's in the place of Python's and NumPy's: what is written, and that the same numbers give the same."""

from __future__ import annotations

import random
import re
import sys
from typing import Any

import pytest

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")
numpy = pytest.importorskip("numpy")
given = pytest.importorskip("exportlint.trial.child.execution.inputs.given_draws")

_NET = """
import random
import numpy as np
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 4
        self.weights = [0.1, 0.2, 0.3, 0.4]
        self.layers = nn.ModuleList([nn.Tanh(), nn.ReLU(), nn.SiLU()])

    def forward(self, x):
        {body}
"""

# By the lines of forward, and the draw in them: what one of the proposals has in it.
_CASES = [
    ("return x * random.choice([1, 2, 5])", "random.choice", "torch.tensor([1, 2, 5])[torch.randint("),
    ("return random.choice(self.layers)(x)", "random.choice(self.layers)", "self.layers[torch.randint(len(self.layers), ())](x)"),
    ("return x[random.choices(range(4), k=2)]", "random.choices", "[(torch.rand(2) * len(range(4))).long()]"),
    (
        "return x[random.choices([0, 1, 2, 3], weights=self.weights, k=3)]", "random.choices",
        "torch.multinomial(torch.as_tensor(self.weights), 3, replacement=True)",
    ),
    ("return x * random.randrange(1, 9)", "random.randrange", "torch.randint(1, 9, ())"),
    ("return x * random.randrange(1, 9, 2)", "random.randrange", "torch.arange(1, 9, 2)[torch.randint("),
    ("return x * random.expovariate(2.0)", "random.expovariate", "-torch.log1p(-torch.rand(())) / 2.0"),
    ("return x * np.random.randint(5)", "np.random.randint", "torch.randint(5, ())"),
    ("return x[torch.from_numpy(np.random.randint(0, 4, size=3))]", "np.random.randint", "x[torch.randint(0, 4, (3,))]"),
    ("return x[int(np.random.choice(self.count))]", "np.random.choice", "x[torch.randint(self.count, ())]"),
    ("return x[np.random.choice(4, 2, replace=False)]", "np.random.choice", "x[torch.randperm(4)[:2]]"),
    (
        "at = np.random.choice(4, size=3, p=self.weights)\n        return x[at.tolist()]", "np.random.choice",
        "at = torch.multinomial(torch.as_tensor(self.weights), 3, replacement=True)\n        return x[at]",
    ),
    (
        "return x * torch.tensor(np.random.choice([2, 3], size=(3, 1), p=[0.9, 0.1]), dtype=torch.float32)[0]",
        "np.random.choice", "torch.as_tensor([2, 3])[torch.multinomial(torch.as_tensor([0.9, 0.1]), 3 * 1, ",
    ),
    ("return x[np.random.permutation(4)]", "np.random.permutation", "x[torch.randperm(4)]"),
    ("return x[np.random.permutation([0, 2])]", "np.random.permutation", "torch.as_tensor([0, 2])[torch.randperm(len([0, 2]))]"),
    (
        "order = list(range(self.count))\n        random.shuffle(order)\n        return x[order]", "random.shuffle",
        "def forward(self, x):\n        order = torch.randperm(self.count)\n        return x[order]",
    ),
    (
        "order = [3, 1, 0]\n        random.shuffle(order)\n        return x[torch.tensor(order)]", "random.shuffle",
        "order = torch.as_tensor(order)[torch.randperm(len(order))]\n        return x[order]",
    ),
    (
        "fs = [torch.sin, torch.exp]\n        random.shuffle(fs)\n        return fs[0](fs[1](x))", "random.shuffle",
        "fs = [fs[i] for i in torch.randperm(len(fs))]",
    ),
    ("return x[sorted(random.sample(range(4), 2))]", "random.sample", "torch.randperm(len(range(4)))[:2]].sort().values]"),
    (
        "u = np.random.uniform(size=tuple(x.shape))\n        return x * torch.tensor(u, dtype=x.dtype)",
        "np.random.uniform", "return x * u.to(dtype=x.dtype)",
    ),
    ("return x * np.random.gumbel(size=(4,))[0]", "np.random.gumbel(size=(4,))", "torch.log(-torch.log1p(-torch.rand((4,))))"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "at", "new"), _CASES, ids=[body for body, *_ in _CASES])
def test_torch_draws_and_the_same_numbers_give_the_same(body: str, at: str, new: str) -> None:
    text = _NET.format(body=body)
    at = at if at.endswith(")") else f"{at}("
    after = next(one for one in proposed(text, at, "made-once") if new in one)
    nets = []
    for source in (text, after):
        names: dict[str, Any] = {}
        exec(compile(source, "net", "exec"), names)  # noqa: S102 - the text is ours
        nets.append(names["Net"]())
    old, now = nets
    x = torch.arange(4.0) + 1
    assert "numpy" in sys.modules
    agree = []
    for generator in given.generators():
        same = []
        for seed in range(5):
            _seed(seed)
            expected = old(x)
            _seed(seed)
            with given.given_draws(generator):
                same.append(torch.allclose(now(x).float(), torch.as_tensor(expected).float()))
        agree.append(all(same))
    assert any(agree)
    values = {str(now(x)) for _ in range(30)}
    assert len(values) > 1


def _seed(number: int) -> None:
    random.seed(number)
    numpy.random.seed(number)


@pytest.mark.parametrize(
    "body",
    [
        "return x * random.choice([1, 2], 3)",
        "return x * np.random.choice([1, 2], size=4, replace=x.sum() > 0)",
        "return x * np.random.randint(0, 5, dtype=np.int64)",
        "np.random.seed(0)\n        return x * np.random.randint(0, 5)",
        "return x * random.choices([1, 2], cum_weights=[1, 3])[0]",
    ],
)
def test_what_is_asked_otherwise_stays(body: str) -> None:
    at = re.findall(r"(?:np\.)?random\.\w+\(", body)[-1]
    assert proposed(_NET.format(body=body), at, "made-once") == []


def test_a_function_of_the_file_draws_with_torch_too() -> None:
    text = """
        import random
        import torch
        from torch import nn

        def jitter(x):
            return x * random.uniform(0.9, 1.1)

        class Net(nn.Module):
            def forward(self, x):
                return jitter(x)
    """
    (new, *_) = proposed(text, "random.uniform(", "made-once")
    assert "return x * (torch.rand(()) * (1.1 - 0.9) + 0.9)" in new


@pytest.mark.parametrize(
    ("listed", "ways"),
    [("[1, 2]", ["torch.tensor([1, 2])["]), ("self.layers", ["self.layers["]), ("x", ["torch.tensor(x)[", "x[torch."])],
)
def test_one_of_a_list_is_drawn_as_what_the_list_holds(listed: str, ways: list[str]) -> None:
    texts = proposed(
        _NET.format(body=f"one = random.choice({listed})\n        return x"), "random.choice(", "made-once"
    )
    assert len(texts) == len(ways)
    assert all(f"one = {way}" in text for way, text in zip(ways, texts, strict=True))
