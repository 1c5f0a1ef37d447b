"""What Python orders by a key that data says is ordered by torch, and gives the same."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

_NET = """
import operator

import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def score(self, y):
        return y.std()

    def forward(self, x):
        xs = [head(x) for head in self.heads]
        scores = [y.sum() for y in xs]
{body}
"""
_PAIRS = "max([(y, y.sum()) for y in xs], key=lambda pair: pair[1])"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "best = min(xs, key=lambda y: y.norm())\nreturn best",
            "torch.where(y.norm() < chosen.norm(), y, chosen), xs)",
        ),
        ("best = max(xs, key=self.score)\nreturn best", "torch.where(self.score(each) > self.score(chosen), each, chos"),
        ("i, y = max(enumerate(xs), key=lambda pair: pair[1].mean())\nreturn y + i", "(best.squeeze(0), torch.stack(xs)"),
        ("y, s = max(zip(xs, scores), key=operator.itemgetter(1))\nreturn y * s", "argmax(keepdim=True)"),
        (f"y, s = {_PAIRS}\nreturn y - s", "tuple((torch.stack(each)[best].squeeze(0) for each in zip(*listed)))"),
        ("xs = sorted(xs, key=lambda y: y.mean(), reverse=True)\nreturn torch.cat(xs)", "stable=True, descending=True)"),
        ("pairs = sorted(zip(scores, xs), key=lambda p: -p[0])\nreturn pairs[0][1]", "list(zip(torch.stack(scores)[order]"),
        ("xs.sort(key=lambda y: y.mean())\nreturn torch.cat(xs[:2])", "xs = list(torch.stack(xs)[torch.stack([y.mean()"),
        (
            (
                "free = list(range(x.shape[1]))\ntaken = []\nfor y in x:\n    best = min(free, key=lambda j: y[j])\n"
                "    free.remove(best)\n    taken.append(y[best])\nreturn torch.stack(taken)"
            ),
            "first, order[free[order].int().argmax(keepdim=True)]).squeeze(0)",
        ),
        (
            (
                "free = set(range(4))\nfor y in x:\n    best = max(free, key=lambda j: y[j].clamp(0, 0.5).item())\n"
                "    free.discard(best)\n    x = x * (1 + y[best])\nreturn x"
            ),
            "free = free & (torch.arange(len(free), device=free.device) != best)",
        ),
        ("first = sorted(scores, reverse=True)[0]\nreturn first", "torch.stack(scores).argsort(stable=True, descending"),
    ],
    ids=["tensors", "a method as the key", "counted", "put together", "tuples", "all", "all pairs", "in place",
         "free numbers", "a set of free numbers, of which several are as good", "no key"],
)  # fmt: skip
def test_what_is_ordered_by_torch_is_what_python_orders(before: str, after: str) -> None:
    text = _NET.format(body="\n".join(f"        {line}" for line in before.split("\n")))
    new = proposed(text, _ordering(before), "ordered-in-data")[0]
    assert after in new
    nets = [_made(text), _made(new)]
    for x in torch.randn(10, 3, 4):
        assert torch.equal(nets[0](x), nets[1](x))
    program = torch.export.export(nets[1], (torch.randn(3, 4),), strict=False).module()
    assert torch.equal(program(x), nets[0](x))


@pytest.mark.parametrize("kind", ["", ".byte()", ".bool()"])  # of the last two nothing is less than 0
@pytest.mark.parametrize("asked", ["min", "max"])
def test_free_numbers_are_compared_as_python_compares_them(asked: str, kind: str) -> None:
    body = (
        f"free = [*range(4)]\ntaken = []\nfor y in x:\n    best = {asked}(free, key=lambda j: y[j]{kind})\n"
        "    free.remove(best)\n    taken.append(torch.as_tensor(best))\nreturn torch.stack(taken)"
    )
    text = _NET.format(body="\n".join(f"        {line}" for line in body.split("\n")))
    nets = [_made(text), _made(proposed(text, f"{asked}(free", "ordered-in-data")[0])]
    torch.manual_seed(0)
    values = torch.tensor([0.0, 0.0, 1.0, 3.0, 2.0] if kind else [torch.nan, torch.inf, -torch.inf, 1.0, 2.0])
    for _ in range(100):
        x = values[torch.randint(5, (4, 4))]
        assert torch.equal(nets[0](x), nets[1](x))


def test_a_list_of_numbers_that_somebody_else_reads_stays_one():
    body = "free = list(range(4))\nbest = min(free, key=lambda j: x[0, j])\nfree.remove(best)\nreturn x[:, free]"
    text = _NET.format(body="\n".join(f"        {line}" for line in body.split("\n")))
    assert not any("free.any()" in one or "free & " in one for one in proposed(text, "min(free", "ordered-in-data"))


def test_a_key_that_is_nan_is_passed_over_as_python_does_it():
    text = _NET.format(body="        best = min(xs, key=lambda y: y[0, 0])\n        return best")
    nets = [_made(text), _made(proposed(text, "min(xs", "ordered-in-data")[0])]
    for net in nets:
        net.heads[1].bias.data[0] = torch.nan
    x = torch.randn(3, 4)
    assert torch.equal(nets[0](x), nets[1](x))


@pytest.mark.parametrize(
    "before",
    ["x if x is None else max(zip(xs, scores), key=lambda p: p[1])[0]", "min(xs, key=lambda y: y.sum(), default=x)"],
    ids=["asked on one path", "a default"],
)
def test_nothing_is_written_where_it_may_not_be_asked(before: str) -> None:
    text = _NET.format(body=f"        return {before}")
    assert proposed(text, _ordering(before), "ordered-in-data") == []


def _ordering(before: str) -> str:
    """The call that orders."""
    calls = [one for one in ast.walk(ast.parse(before)) if isinstance(one, ast.Call)]
    named = (one for one in calls if ast.unparse(one.func) in {"min", "max", "sorted", "xs.sort"})
    return ast.get_source_segment(before, next(named)) or ""


def _made(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "net", "exec"), names)  # noqa: S102 - the text is ours
    torch.manual_seed(0)
    return names["Net"]().eval()
