"""What TorchScript takes in the place of what it does not: the scripted module gives what the author's gives in eager."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

from tests.rewrite.proposed import proposed

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch")

_NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.depth = 2
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.norms = nn.ModuleList([nn.LayerNorm(4), nn.LayerNorm(4)])

    def filled(self, x, n, value):
        return x.new_full((n, 4), value)

    def forward(self, x):
        {body}
"""

# What forward does; the place that is reported; what the new file has, and what it has no more.
_CASES = {
    "as many as there are": (
        "for i in range(3):\n    x = self.layers[i](x)\nreturn x",
        "x = self.layers[i](x)",
        "for layer in self.layers:\n            x = layer(x)\n",
        "IndexError",
    ),
    "the length of the list": (
        "for i in range(len(self.layers)):\n    x = self.layers[i](x) * i\nreturn x",
        "x = self.layers[i](x) * i",
        "for i, layer in enumerate(self.layers):\n            x = layer(x) * i\n",
        "if ",
    ),
    "all but the last": (
        "n = len(self.layers)\nfor i in range(n - 1):\n    x = self.layers[i](x)\nreturn self.layers[n - 1](x)",
        "x = self.layers[i](x)",
        "return self.layers[-1](x)",
        "IndexError",
    ),
    "a number that may be too large": (
        "for i in range(self.depth):\n    x = self.norms[i](self.layers[i](x))\nreturn x",
        "x = self.norms[i]",
        "for i, (norm, layer) in enumerate(zip(self.norms, self.layers)):\n            if i < self.depth:\n",
        "range(",
    ),
    "loops in loops": (
        "for i in range(2):\n    for j in range(3):\n        x = x + self.norms[i](self.layers[j](x))\nreturn x",
        "x = x + self.norms[i]",
        "for norm in self.norms:\n            for layer in self.layers:\n",
        "range(",
    ),
    "lists that begin at other elements": (
        "for p, q in zip(self.layers[1:], self.norms):\n    x = p(x) + q(x)\nreturn x",
        "for p, q",
        "if j == i + 1:",
        "[1:]",
    ),
    "lists that begin alike": (
        "for i, (p, q) in enumerate(zip(self.layers[1:], self.norms[1:])):\n    x = p(x) + q(x) * (i + 1)\nreturn x",
        "for i, (p, q)",
        "if index >= 1:\n                i = index - 1\n",
        "[1:]",
    ),
    "a slice": (
        "for i, layer in enumerate(self.layers[:-1]):\n    x = layer(x) * i\nreturn x",
        "x = layer(x) * i",
        "if i < len(self.layers) - 1:",
        "[:-1]",
    ),
    "fewer tensors than modules": (
        (
            "parts = [x, x + 1]\nout = []\nfor layer, part in zip(self.layers, parts):\n    out.append(layer(part))\n"
            "return torch.cat(out)"
        ),
        "for layer, part",
        "if i < len(parts):\n                part = parts[i]\n",
        "zip",
    ),
    "parts of a tensor": (
        "for layer, part in zip(self.layers, x.chunk(2)):\n    x = x + layer(part)\nreturn x",
        "for layer, part",
        "others = x.chunk(2)\n        for i, layer in enumerate(self.layers):\n",
        "zip",
    ),
    "a comprehension": (
        "return torch.cat([self.layers[i](x) for i in range(2)])",
        "return torch.cat([self",
        "if i < 2:\n                made.append(layer(x))\n        return torch.cat(made)",
        "range(2)",
    ),
    "a comprehension over several things, with a test": (
        "rows = [a * b for a in x for b in x if a is not b]\nreturn torch.stack(rows)",
        "rows =",
        "rows = []\n        for a in x:\n            for b in x:\n",
        "made",
    ),
    "None at first": (
        "h = None\nfor _ in range(3):\n    h = x if h is None else h + x\nreturn h",
        "h = x",
        "h: typing.Optional[torch.Tensor] = None",
        "h = None",
    ),
    "numbers that are given": (
        "return self.filled(x, x.shape[0], 0.5)",
        "return self.filled",
        "def filled(self, x, n: int, value: float):",
        "n, value",
    ),
}
_INDENT = "\n        "


@pytest.mark.parametrize("case", _CASES)
def test_it_is_taken_and_computes_the_same(tmp_path: Path, case: str) -> None:
    body, at, new, gone = _CASES[case]
    before = _NET.format(body=_INDENT.join(body.split("\n")))
    after = proposed(before, at, "for-torchscript")[0]
    assert new in after
    assert gone not in after.partition("return x.new_full")[2] or case == "numbers that are given"
    old, now = (_model(tmp_path / name, text) for name, text in (("old.py", before), ("now.py", after)))
    with pytest.raises((RuntimeError, torch.jit.frontend.NotSupportedError)):
        torch.jit.script(old)
    x = torch.randn(2, 4)
    expected = old(x)
    for model in (now, torch.jit.script(now)):
        given = model(x)
        assert all(torch.allclose(*pair) for pair in zip(given, expected, strict=True)), after


# The same in eager is not what TorchScript's form would give.
_LEFT = {
    "a test of the number in the loop": "for i in range(9):\n    if i < 3:\n        x = self.layers[i](x)\nreturn x",
    "backwards": "for i in range(2, -1, -1):\n    x = self.layers[i](x)\nreturn x",
    "a step": "for i in range(0, 3, 2):\n    x = self.layers[i](x)\nreturn x",
    "the number is read behind it": "for i in range(2):\n    x = self.layers[i](x)\nreturn x * i",
    "left early": "for i in range(2):\n    x = self.layers[i](x)\n    if i > 0:\n        break\nreturn x",
    "the number is set": "for i in range(2):\n    i = 1 - i\n    x = self.layers[i](x)\nreturn x",
    "the count is set": "n = 2\nfor i in range(n):\n    n = 1\n    x = self.layers[i](x)\nreturn x",
}


@pytest.mark.parametrize("case", _LEFT)
def test_what_would_not_be_the_same_is_left(case: str) -> None:
    text = _NET.format(body=_INDENT.join(_LEFT[case].split("\n")))
    assert proposed(text, "x = self.layers[i](x)", "for-torchscript") == []


def test_an_index_that_is_too_large_raises_as_in_eager(tmp_path: Path) -> None:
    text = _NET.format(body="for i in range(self.depth):\n            x = self.layers[i](x)\n        return x")
    (after, *_) = proposed(text, "x = self.layers[i](x)", "for-torchscript")
    for name, source in (("old", text), ("now", after)):
        model = _model(tmp_path / f"{name}.py", source)
        model.depth = 4
        with pytest.raises(IndexError):
            model(torch.randn(2, 4))


_REFINED = """
from typing import Dict, Optional, Union

import torch
from torch import nn


class Net(nn.Module):
    bias: Optional[torch.Tensor]
    calls: Optional[int]

    def __init__(self):
        super().__init__()
        self.bias = torch.ones(4)
        self.calls = 0

    def forward(self, x: torch.Tensor, given: Dict[str, Union[str, torch.Tensor]]):
        assert isinstance(given["gain"], torch.Tensor)
        if self.bias is not None:
            x = x + self.bias
        if self.calls is not None:
            self.calls += 1
        return x * given["gain"]
"""


def test_what_a_test_tells_is_told_of_a_name(tmp_path: Path) -> None:
    """TorchScript takes the class of an attribute or an element for what it is declared, whatever was tested."""
    text = _REFINED
    for line in ('return x * given["gain"]', "x = x + self.bias", "self.calls += 1"):
        (text,) = proposed(text, line, "for-torchscript")
    assert "bias = self.bias\n        if bias is not None:\n            x = x + bias" in text
    assert "calls = self.calls\n        if calls is not None:\n            self.calls = calls + 1" in text
    scripted = torch.jit.script(_model(tmp_path / "now.py", text))
    old = _model(tmp_path / "old.py", _REFINED)
    x, given = torch.randn(2, 4), {"gain": torch.tensor(3.0)}
    assert torch.equal(scripted(x, given), old(x, given))
    with pytest.raises(RuntimeError):
        torch.jit.script(old)


def test_a_size_is_not_changed_in_place() -> None:
    text = _NET.format(body="n = x.shape[0]\n        m = n\n        m *= n + 1\n        return x * (m + n)")
    assert ["m = m * (n + 1)" in one for one in proposed(text, "m *= n + 1", "for-torchscript")] == [True]


def test_a_tensor_is_changed_in_place_as_before() -> None:
    text = _NET.format(body="y = x.clone()\n        y *= 2\n        return y")
    assert proposed(text, "y *= 2", "for-torchscript") == []


def _model(file: Path, text: str) -> Any:
    """TorchScript reads the source."""
    file.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Net().eval()
