"""What is advised for code that TorchScript cannot compile: written so, it compiles, and gives what eager gives.

The advice itself is in `exportlint.trial.findings.wording.torch_messages`.
"""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import pytest
import torch

from exportlint.trial.findings.wording.torch_messages import FOR_TORCHSCRIPT
from exportlint.trial.protocol.torch_messages import uncompiled

if TYPE_CHECKING:
    from pathlib import Path

HEAD = """\
from typing import Dict, List, Optional, Tuple

import torch
from torch import nn

TABLE = {"a": 2.0}


def grown(t):
    return t + 1


class Base(nn.Module):
    def forward(self, x):
        return x * 3


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])
        self.backwards = nn.ModuleList(reversed(self.layers))
        self.named = nn.ModuleDict({"a": nn.Linear(4, 4), "b": nn.Linear(4, 4)})
        self.layer0, self.layer1 = self.layers[0], self.layers[1]
        self.factor = TABLE["a"]

    def filled(self, x, n):
        return x.new_zeros(n)

    def filled_as(self, x, n: int):
        return x.new_zeros(n)

    @torch.jit.unused
    def told(self, x: torch.Tensor) -> None:
        print(f"{x.mean():.3f}")


"""
DERIVED = HEAD.replace("class Net(nn.Module)", "class Net(Base)")
WITH_METHOD = DERIVED.replace(
    "class Base(nn.Module):\n    def forward(self, x):\n        return x * 3\n",
    "class Base(nn.Module):\n    def scaled(self, x):\n        return x * 3\n\n    def forward(self, x):\n"
    "        return self.scaled(x)\n",
)

# kind of `uncompiled` -> the method that is refused, and as it is advised
ADVISED = {
    "module-index": (
        "def forward(self, x):\n    for i in range(2):\n        x = self.layers[i](x)\n    return x",
        (
            "def forward(self, x):\n    for i, layer in enumerate(self.layers):\n        if i < 2:\n            x = layer(x)\n"
            "    return x"
        ),
    ),
    "dict-index": (
        'def forward(self, x, key: str = "b"):\n    return self.named[key](x)',
        (
            'def forward(self, x, key: str = "b"):\n    for name, layer in self.named.items():\n        if name == key:\n'
            "            x = layer(x)\n    return x"
        ),
    ),
    "module-slice": (
        "def forward(self, x):\n    for layer in self.layers[1:]:\n        x = layer(x)\n    return x",
        (
            "def forward(self, x):\n    for i, layer in enumerate(self.layers):\n        if i >= 1:\n            x = layer(x)\n"
            "    return x"
        ),
    ),
    "module-zip": (
        (
            "def forward(self, x):\n    others = [x, x, x]\n    for layer, one in zip(self.layers, others):\n"
            "        x = x + layer(one)\n    return x"
        ),
        (
            "def forward(self, x):\n    others = [x, x, x]\n    for i, layer in enumerate(self.layers):\n"
            "        x = x + layer(others[i])\n    return x"
        ),
    ),
    "module-reversed": (
        "def forward(self, x):\n    for layer in reversed(self.layers):\n        x = layer(x)\n    return x",
        "def forward(self, x):\n    for layer in self.backwards:\n        x = layer(x)\n    return x",
    ),
    "module-break": (
        (
            "def forward(self, x):\n    for layer in self.layers:\n        x = layer(x)\n        if x.shape[0] > 1:\n"
            "            break\n    return x"
        ),
        (
            "def forward(self, x):\n    done = False\n    for layer in self.layers:\n        if not done:\n"
            "            x = layer(x)\n            if x.shape[0] > 1:\n                done = True\n    return x"
        ),
    ),
    "arguments": (
        "def forward(self, x, *more):\n    return x",
        "def forward(self, x, more: Optional[List[torch.Tensor]] = None):\n    return x",
    ),
    "becomes-tensor": (
        "def forward(self, x):\n    h = None\n    for _ in range(3):\n        h = x if h is None else h + x\n    return h",
        (
            "def forward(self, x):\n    h: Optional[torch.Tensor] = None\n    for _ in range(3):\n"
            "        h = x if h is None else h + x\n    return h"
        ),
    ),
    "other-type": (
        "def forward(self, x):\n    n = 1\n    for _ in range(2):\n        n = n + 1.5\n    return x * n",
        (
            "def forward(self, x):\n    n = 1\n    other = float(n)\n    for _ in range(2):\n        other = other + 1.5\n"
            "    return x * other"
        ),
    ),
    "branches": (
        "def forward(self, x):\n    if x.shape[0] > 1:\n        y = x\n    else:\n        y = 0\n    return x + y",
        (
            "def forward(self, x):\n    if x.shape[0] > 1:\n        y = x\n    else:\n        y = torch.zeros_like(x)\n"
            "    return x + y"
        ),
    ),
    "undefined": (
        "def forward(self, x):\n    if x.shape[0] > 1:\n        y = x\n    return y",
        "def forward(self, x):\n    y = x\n    if x.shape[0] > 1:\n        y = x\n    return y",
    ),
    "returns": (
        "def forward(self, x, both: bool = False):\n    if both:\n        return x, x\n    return x",
        "def forward(self, x, both: bool = False):\n    if both:\n        return x + x\n    return x",
    ),
    "not-annotated": (
        "def forward(self, x):\n    return self.filled(x, x.shape[0])",
        "def forward(self, x):\n    return self.filled_as(x, x.shape[0])",
    ),
    "optional": (
        "def forward(self, x, y: Optional[torch.Tensor] = None):\n    return x + y if x.shape[0] > 9 else x",
        "def forward(self, x, y: Optional[torch.Tensor] = None):\n    if y is not None:\n        x = x + y\n    return x",
    ),
    "default": (
        "def forward(self, x, sizes: List[int] = [1, 2]):\n    return x * sizes[0]",
        (
            "def forward(self, x, sizes: Optional[List[int]] = None):\n    if sizes is None:\n        sizes = [1, 2]\n"
            "    return x * sizes[0]"
        ),
    ),
    "format": (
        'def forward(self, x):\n    print(f"{x.mean():.3f}")\n    return x',
        (
            'def forward(self, x):\n    print(f"{x.mean()}")\n    if not torch.jit.is_scripting():\n        self.told(x)\n'
            "    return x"
        ),
    ),
    "lambda": (
        "def forward(self, x):\n    f = lambda t: t + 1\n    return f(x)",
        "def forward(self, x):\n    return grown(x)",
    ),
    "try": (
        "def forward(self, x):\n    try:\n        x = x + self.factor\n    except RuntimeError:\n        pass\n    return x",
        "def forward(self, x):\n    if x.shape[0] > 0:\n        x = x + self.factor\n    return x",
    ),
    "comprehension": (
        "def forward(self, x):\n    return torch.stack([a * b for a in x for b in x])",
        (
            "def forward(self, x):\n    out = []\n    for a in x:\n        for b in x:\n            out.append(a * b)\n"
            "    return torch.stack(out)"
        ),
    ),
    "empty-list": (
        "def forward(self, x):\n    out = []\n    for i in range(3):\n        out.append(i)\n    return x * out[1]",
        "def forward(self, x):\n    out: List[int] = []\n    for i in range(3):\n        out.append(i)\n    return x * out[1]",
    ),
    "global": (
        'def forward(self, x):\n    return x * TABLE["a"]',
        "def forward(self, x):\n    return x * self.factor",
    ),
    "name-of-attribute": (
        'def forward(self, x):\n    for i in range(2):\n        x = getattr(self, f"layer{i}")(x)\n    return x',
        (
            "def forward(self, x):\n    for i, layer in enumerate(self.layers):\n        if i < 2:\n            x = layer(x)\n"
            "    return x"
        ),
    ),
    "super": (
        "def forward(self, x):\n    return super().forward(x) + 1",
        "def forward(self, x):\n    return self.scaled(x) + 1",
    ),
}


def net(folder: Path, head: str, method: str) -> Any:
    """The model of a file, as TorchScript wants it: it reads the source."""
    file = folder / "net.py"
    file.write_text(head + "".join(f"    {line}\n" for line in method.splitlines()), "utf-8")
    spec = importlib.util.spec_from_file_location("net", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    torch.manual_seed(0)
    return module.Net().eval()


def test_every_advice_is_tried() -> None:
    assert ADVISED.keys() == FOR_TORCHSCRIPT.keys()


@pytest.mark.parametrize("kind", ADVISED)
def test_written_as_advised_it_compiles_and_gives_what_eager_gives(tmp_path: Path, kind: str) -> None:
    before, after = ADVISED[kind]
    of_super = kind == "super"
    refused = net(tmp_path, DERIVED if of_super else HEAD, before)
    with pytest.raises((RuntimeError, torch.jit.frontend.FrontendError)) as caught:
        torch.jit.script(refused)
    told = uncompiled(str(caught.value))
    assert told is not None
    assert told.kind == kind, caught.value
    x = torch.randn(2, 4)
    advised = net(tmp_path, WITH_METHOD if of_super else HEAD, after)
    torch.testing.assert_close(torch.jit.script(advised)(x), refused(x), check_device=False)
