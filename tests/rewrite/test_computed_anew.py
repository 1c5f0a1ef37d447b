"""Caches keyed by addresses that go, those that stay, and what is computed as for two tensors."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

from tests.rewrite.proposed import proposed

torch = pytest.importorskip("torch")

_NET = """\
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen = {{}}
        self.fc = nn.Linear(3, 3)

    def forward(self, x: torch.Tensor, y: torch.Tensor):
{body}
"""


def _net(body: str) -> str:
    return _NET.format(body=textwrap.indent(body, "        "))


def _agree(before: str, after: str) -> bool:
    """On tensors that live on, the same ones again, and one that stands for both."""
    nets = []
    for text in (before, after):
        names: dict[str, Any] = {}
        exec(compile(text, "net", "exec"), names)  # noqa: S102 - the text is ours
        torch.manual_seed(0)
        nets.append(names["Net"]())
    x, y = torch.randn(2, 3), torch.randn(2, 3)
    old, now = nets
    return all(torch.equal(old(*one), now(*one)) for one in ((x, y), (x, y), (y, x), (x, x), (y, y)))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (("key = x.data_ptr()\nif key not in self.seen:\n    z = x * 2\n    self.seen[key] = z.exp()\n"
         "return y + self.seen[key]"),
         "z = x * 2\nkept = z.exp()\nreturn y + kept"),
        ("if id(x) in self.seen:\n    z = self.seen[id(x)]\nelse:\n    z = self.fc(x)\n    self.seen[id(x)] = z\nreturn y + z",
         "z = self.fc(x)\nreturn y + z"),
        (("key = (id(x), x.shape[0])\nheld = self.seen.get(key)\nif held is None:\n    held = self.fc(x)\n"
         "    self.seen[key] = held\nreturn y + held"),
         "held = self.fc(x)\nreturn y + held"),
        ("key = id(x)\nif key in self.seen:\n    return self.seen[key]\nz = self.fc(x)\nself.seen[key] = z\nreturn z",
         "z = self.fc(x)\nreturn z"),
        ("return y + self.seen.setdefault(id(x), self.fc(x))", "return y + self.fc(x)"),
        (("memo = {}\nfor one in (x, y):\n    if id(one) not in memo:\n        memo[id(one)] = self.fc(one)\n"
         "    y = y + memo[id(one)]\nreturn y"),
         "for one in (x, y):\n    kept = self.fc(one)\n    y = y + kept\nreturn y"),
    ],
    ids=["not in", "in, or else", "get", "returned at once", "setdefault", "within a call"],
)  # fmt: skip
def test_what_a_cache_holds_for_an_address_is_computed(before: str, after: str) -> None:
    at = "x.data_ptr()" if "data_ptr" in before else "id(x)" if "id(x)" in before else "id(one)"
    (text,) = proposed(_net(before), at, "computed-anew")
    assert text == _net(after)
    assert _agree(_net(before), text)


@pytest.mark.parametrize(
    "body",
    [
        "if id(x) not in self.seen:\n    self.seen[id(x)] = self.fc(x)\nreturn self.seen[id(x)] + len(self.seen)",
        "if id(x) in self.seen:\n    return self.seen[id(x)]\nreturn self.fc(x)",
        "self.seen[id(x)] = y\nreturn x + id(x)",
        "for one in (x, y):\n    self.seen[id(one)] = self.fc(one)\nreturn sum(self.seen.values())",
    ],
    ids=["counted", "filled elsewhere", "no cache", "gone through"],
)
def test_what_else_is_done_with_it_keeps_it(body: str) -> None:
    at = "id(x)" if "id(x)" in body else "id(one)"
    assert proposed(_net(body), at, "computed-anew") == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("if x.data_ptr() == y.data_ptr():\n    return 2 * self.fc(x)\nreturn self.fc(x) + self.fc(y)",
         "return self.fc(x) + self.fc(y)"),
        ("z = self.fc(x)\nw = z if y is x else self.fc(y)\nreturn z + w", "z = self.fc(x)\nw = self.fc(y)\nreturn z + w"),
        ("if y is not x:\n    x = x + self.fc(y - x)\nelse:\n    x = x + self.fc(x * 0)\nreturn x",
         "x = x + self.fc(y - x)\nreturn x"),
        ("if len(x) > 9 or y is x:\n    return self.fc(x) * 2\nreturn self.fc(x) + self.fc(y)",
         "if len(x) > 9:\n    return self.fc(x) * 2\nreturn self.fc(x) + self.fc(y)"),
        ("same = id(x) == id(y)\nreturn self.fc(x) * 2 if same else self.fc(x) + self.fc(y)",
         "same = False\nreturn self.fc(x) * 2 if same else self.fc(x) + self.fc(y)"),
    ],
    ids=["addresses", "an expression", "not one", "or something else", "a name"],
)  # fmt: skip
def test_two_tensors_that_may_be_one_are_taken_for_two(before: str, after: str) -> None:
    at = next(one for one in ("x.data_ptr()", "y is x", "y is not x", "id(x)") if one in before)
    (text,) = proposed(_net(before), at, "computed-anew")
    assert text == _net(after)
    assert _agree(_net(before), text)


def test_another_method_that_reads_it_keeps_it() -> None:
    body = "if id(x) not in self.seen:\n    self.seen[id(x)] = self.fc(x)\nreturn y + self.seen[id(x)]"
    for line, is_kept in (("return len(self.seen)", True), ("self.seen.clear()", False)):
        text = _net(body) + f"\n    def told(self):\n        {line}\n"
        assert (proposed(text, "id(x)", "computed-anew") == []) is is_kept
