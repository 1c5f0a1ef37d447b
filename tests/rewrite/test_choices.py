"""A layer, a function or a text that data chooses: the new function gives the same in eager, and it exports."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

WAYS = ("ordered-in-data", "python-numbers", "decide-in-data")
_FILE = """
import torch
from torch import Tensor, nn
import torch.nn.functional as F

ACTS = {0: torch.relu, 1: torch.tanh, 2: F.softplus}
NAMES = ["small", "mid", "big"]


def double(x):
    return x * 2


class Expert(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.fc = nn.Linear(4, 4)
        self.scale = scale

    def encode(self, x):
        return self.fc(x) * self.scale

    def score(self, x):
        return (x - self.scale).pow(2).sum()

    def forward(self, x):
        return torch.tanh(self.fc(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.experts = nn.ModuleList([Expert(s) for s in (-2.0, 0.0, 2.0)])
        self.named = nn.ModuleDict({name: Expert(i) for i, name in enumerate(NAMES)})
        self.numbered = nn.ModuleDict({f"h{i}": Expert(i) for i in range(3)})
        self.gains = nn.ParameterDict({f"{i}s": nn.Parameter(torch.randn(4)) for i in range(3)})
        self.small = Expert(1.0)
        self.mid = Expert(2.0)
        self.big = Expert(3.0)
        self.routes = (self.small, self.mid, self.big)
        self.table = {"small": self.small, "big": self.big}

    def forward(self, x: Tensor, code: Tensor) -> Tensor:
"""
# The function, where it is reported, and a part of what stands there then.
TABLE = {
    "an entry of a list": (
        "return self.experts[code.item()](x)", "code.item()",
        "return torch.stack([each(x) for each in self.experts])[code.long().reshape(1)].squeeze(0)"),
    "an entry that is called twice": (
        "act = ACTS[code.item()]\ny = act(x)\nreturn act(y) + y", "ACTS[",
        "act = (torch.tensor(list(ACTS)) == code.reshape(())).nonzero()[0]"),
    "functions and lambdas": (
        "table = [double, torch.relu, lambda t: t + 1]\nreturn table[int(code)](x)", "int(code)",
        "[each(x) for each in table]"),
    "a method, and a number": (
        "expert = self.routes[code.item()]\nreturn expert.encode(x) * expert.scale", "code.item()",
        "[torch.as_tensor(each.scale) for each in self.routes]"),
    "a part of a part": ("return x @ self.experts[code.item()].fc.weight", "code.item()", "each.fc.weight for each in"),
    "by a text of a number": (
        "return self.numbered[f'h{code.item()}'](x)", "f'h{code.item()}'",
        "(torch.tensor([int(key.removeprefix('h')) for key in self.numbered]) == code.reshape(())).nonzero()[0]"),
    "by a text with a name": (
        "n = code.item()\nkey = f'h{n}'\nn = 0\nreturn self.numbered[key](x) + n", "f'h{n}'", "key = n"),
    "a tensor by a text": ("return x + self.gains[f'{code.item()}s']", "f'{code", "for each in self.gains.values()]"),
    "by a text of a list": (
        "expert = self.named[NAMES[code.item()]]\nreturn expert(x) + expert.encode(x)", "NAMES[code.item()]",
        "[self.named[each](x) for each in NAMES]"),
    "an attribute": (
        "name = NAMES[code.item()]\nreturn getattr(self, name)(x)", "code.item()",
        "[getattr(self, each)(x) for each in NAMES]"),
    "or another one": (
        "act = {0: torch.relu, 2: torch.tanh}.get(code.item(), torch.sigmoid)\nreturn act(x)", "code.item()",
        "torch.cat([torch.tensor(list("),
    "the least": (
        "best = min(self.experts, key=lambda e: e.score(x))\nreturn best(x)", "min(",
        "best = torch.stack([e.score(x) for e in self.experts]).argmin()"),
    "the largest by its name": (
        "name = max(self.named, key=lambda n: self.named[n].score(x))\nreturn self.named[name](x)", "max(",
        "[self.named[each](x) for each in self.named]"),
    "the largest of pairs": (
        "name, expert = max(self.named.items(), key=lambda kv: kv[1].score(x))\nreturn expert(x)", "max(",
        "[each[1](x) for each in self.named.items()]"),
    "in an order": (
        "ranked = sorted(self.experts, key=lambda e: e.score(x), reverse=True)\nreturn ranked[0](x) - ranked[-1](x)",
        "sorted(", "argsort(stable=True, descending=True)"),
    "one after the other": (
        "for e in sorted(self.experts, key=lambda e: e.score(x))[:2]:\n    x = e(x)\nreturn x", "sorted(",
        "[each(x) for each in self.experts])[e.reshape(1)]"),
    "the first that": (
        "first = next(e for e in self.experts if e.score(x) < 90)\nreturn first(x)", "next(",
        "first = torch.stack([e.score(x) < 90 for e in self.experts]).nonzero()[0]"),
    "one of two": (
        "act = torch.relu if x.mean() > 0 else torch.tanh\nreturn act(x)", "x.mean() > 0",
        "[each(x) for each in (torch.relu, torch.tanh)]"),
    "one of three": (
        "if code == 0:\n    e = self.small\nelif code == 1:\n    e = self.mid\nelse:\n    e = self.big\nreturn e(e.encode(x))",
        "code == 0", "each.encode(x) for each in (self.mid, self.big, self.small)"),
    "one unless": (
        "e = self.small\nif x.mean() > 0:\n    e = self.big\nreturn e(x)", "x.mean() > 0",
        "[each(x) for each in (self.big, self.small)]"),
    "a key that is decided": (
        "key = 'small' if x.mean() > 0 else 'big'\nreturn self.table[key](x)", "x.mean() > 0",
        "[self.table[each](x) for each in ('small', 'big')]"),
    "the best so far": (
        ("best, least = None, float('inf')\nfor e in self.experts:\n    s = e.score(x)\n    if s < least:\n"
         "        best, least = e, s\nreturn best(x)"), "s < least",
        "torch.stack([each(x) for each in self.experts])[best.reshape(1)]"),
    "the best name so far": (
        ("best = None\nleast = torch.tensor(1e9)\nfor name, e in self.named.items():\n    if e.score(x) < least:\n"
         "        best = name\n        least = e.score(x)\nreturn self.named[best](x)"), "e.score(x) < least",
        "[self.named[each[0]](x) for each in self.named.items()]"),
    "after a return": (
        "if x.sum() > 1000:\n    return x\nexpert = self.experts[code]\nreturn expert(x)", "x.sum()", "expert = code.long()"),
}  # fmt: skip


def _made(text: str) -> Any:
    names: dict[str, Any] = {}
    exec(compile(text, "net", "exec"), names)  # noqa: S102 - the text is ours
    torch.manual_seed(0)
    return names["Net"]().eval()


@pytest.mark.parametrize(("lines", "at", "after"), TABLE.values(), ids=TABLE)
def test_one_of_all_is_what_python_chose(lines: str, at: str, after: str) -> None:
    text = _FILE + textwrap.indent(lines, "        ") + "\n"
    new = next(one for one in proposed(text, at, *WAYS) if after in " ".join(one.split()).replace('"', "'"))
    nets = [_made(text), _made(new)]
    given = [(torch.randn(5, 4) + shift, torch.tensor(code)) for code, shift in ((0, -2), (1, 0), (2, 2))]
    program = torch.export.export(nets[1], given[0], strict=False).module()
    for inputs in given:
        assert torch.equal(nets[0](*inputs), nets[1](*inputs))
        assert torch.equal(nets[0](*inputs), program(*inputs))


def test_a_key_that_is_missing_stays_an_error() -> None:
    text = _FILE + "        return ACTS[code.item()](x)\n"
    for net in (_made(text), _made(proposed(text, "code.item()", *WAYS)[0])):
        with pytest.raises((KeyError, IndexError)):
            net(torch.ones(4), torch.tensor(7))


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        ("act = ACTS[code.item()]\nreturn double(act)", "ACTS["),
        ("return {'text': NAMES[code.item()], 'x': x}", "NAMES["),
        ("e = self.experts[code.item()]\nif e is self.small:\n    return x\nreturn e(x)", "code.item()"),
    ],
    ids=["handed on", "given back", "asked for"],
)
def test_a_number_never_stands_where_the_thing_was(lines: str, at: str) -> None:
    text = _FILE + textwrap.indent(lines, "        ") + "\n"
    for new in proposed(text, at, *WAYS):
        assert "nonzero" not in new
        assert "= code.long()\n" not in new
