"""What TorchScript cannot compile, or fails of, stands at the line that it names, as the installed torch says it."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING

import pytest

from exportlint.trial.findings.wording.torch_messages import torch_words
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.torch_messages import uncompiled

if TYPE_CHECKING:
    from pathlib import Path

    from exportlint.trial.protocol.observation import Observation

HEAD = """\
from typing import Optional

import torch
from torch import nn

TABLE = {"a": 2.0}


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def filled(self, x, n):
        return x.new_zeros(n)

"""
CALL = "\n\nscripted = torch.jit.script(Net())\nscripted(torch.randn(2, 4))\n"

# The body of a method; what stands in the line that is named, the beginning of the sentence, what is written instead.
CASES = {
    "an index": (
        "    def forward(self, x):\n        for i in range(3):\n            x = self.layers[i](x)\n        return x",
        "x = self.layers[i](x)",
        "RuntimeError: Expected integer literal for index",
        "enumerate(self.layers)",
    ),
    "any number of arguments": (
        "    def forward(self, x, *more):\n        return x",
        "def forward(self, x, *more):",
        "NotSupportedError: Compiled functions can't take variable number of arguments",
        "name every argument",
    ),
    "zip with a list of tensors": (
        (
            "    def forward(self, x):\n        parts = [x, x]\n        for layer, part in zip(self.layers, parts):\n"
            "            x = x + layer(part)\n        return x"
        ),
        "for layer, part in zip(self.layers, parts):",
        "RuntimeError: Can not iterate over a module list or tuple with a value",
        "take `others[i]`",
    ),
    "a slice of modules": (
        "    def forward(self, x):\n        for layer in self.layers[1:]:\n            x = layer(x)\n        return x",
        "x = layer(x)",
        "RuntimeError: 'torch.nn.modules.linear.Linear' object has no attribute or method '__call__'",
        "if i >= 1",
    ),
    "branches of two types": (
        (
            "    def forward(self, x):\n        if x.shape[0] > 1:\n            y = x\n        else:\n            y = 0\n"
            "        return y"
        ),
        "if x.shape[0] > 1:",
        "RuntimeError: Type mismatch: y is set to type Tensor",
        "the same type",
    ),
    "None and a tensor": (
        "    def forward(self, x, y: Optional[torch.Tensor] = None):\n        return x + y",
        "return x + y",
        "RuntimeError: Arguments for call are not valid: Expected a value of type 'Tensor' for argument 'other'",
        "is not None",
    ),
    "None at first": (
        "    def forward(self, x):\n        h = None\n        for _ in range(3):\n            h = x\n        return h",
        "h = x",
        "RuntimeError: Variable 'h' previously had type NoneType",
        "`h: Optional[torch.Tensor] = None`",
    ),
    "a number that is no tensor": (
        "    def forward(self, x):\n        return self.filled(x, x.shape[0])",
        "return self.filled(x, x.shape[0])",
        "RuntimeError: Expected a value of type 'Tensor (inferred)' for argument 'n' but instead found type 'int'",
        "`n: int`",
    ),
    "a format": (
        '    def forward(self, x):\n        print(f"{x.mean():.3f}")\n        return x',
        'print(f"{x.mean():.3f}")',
        "NotSupportedError: Don't support formatting in JoinedStr",
        "torch.jit.unused",
    ),
    "try": (
        (
            "    def forward(self, x):\n        try:\n            x = x + 1\n        except RuntimeError:\n            pass\n"
            "        return x"
        ),
        "try:",
        "UnsupportedNodeError: try blocks aren't supported",
        "test before",
    ),
    "a lambda": (
        "    def forward(self, x):\n        f = lambda t: t + 1\n        return f(x)",
        "f = lambda t: t + 1",
        "UnsupportedNodeError: Lambda aren't supported",
        "a function of the file",
    ),
    "two loops in a comprehension": (
        "    def forward(self, x):\n        return torch.stack([a * b for a in x for b in x])",
        "return torch.stack([a * b for a in x for b in x])",
        "NotSupportedError: Only a single generator",
        "a loop that appends",
    ),
    "a global table": (
        '    def forward(self, x):\n        return x * TABLE["a"]',
        'return x * TABLE["a"]',
        "RuntimeError: python value of type 'dict' cannot be used as a value",
        "set in `__init__`",
    ),
    "results of two types": (
        "    def forward(self, x, both: bool = False):\n        if both:\n            return x, x\n        return x",
        "return x",
        "RuntimeError: Previous return statement returned a value of type Tuple[Tensor, Tensor]",
        "the same type everywhere",
    ),
    "a list as default": (
        "    def forward(self, x, sizes=[1, 2]):\n        return x * sizes[0]",
        "def forward(self, x, sizes=[1, 2]):",
        "RuntimeError: Mutable default parameters are not supported",
        "make the default None",
    ),
}


def raised(folder: Path, source: str) -> Observation:
    """Of running the file."""
    file = folder / "net.py"
    file.write_text(source, "utf-8")
    spec = importlib.util.spec_from_file_location("net", file)
    assert spec is not None
    assert spec.loader is not None
    try:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    except Exception as error:  # noqa: BLE001 - whatever torch raises is what is read
        return of_exception(error)
    raise AssertionError("torch takes the file")


@pytest.mark.parametrize("case", CASES)
def test_the_line_that_torchscript_names_and_what_to_write_there(tmp_path: Path, case: str) -> None:
    body, line, says, instead = CASES[case]
    seen = raised(tmp_path, HEAD + body + CALL)
    assert seen.user is not None
    assert seen.user.text == line
    words = torch_words(seen)
    assert words.message.startswith(says)
    assert instead in (words.suggestion or "")


THROUGH = """\
def helper(x):
    return x.nothing()


class Above(nn.Module):
    def inner(self, x):
        return helper(x)

    def forward(self, x):
        return self.inner(x)


scripted = torch.jit.script(Above())
"""


def test_the_functions_on_the_way_there(tmp_path: Path) -> None:
    seen = raised(tmp_path, f"import torch\nfrom torch import nn\n\n\n{THROUGH}")
    assert seen.user is not None
    assert seen.user.text == "return x.nothing()"
    assert [(line, function) for _, line, function in seen.details["scripted"]] == [
        (17, "<module>"), (14, "Above.forward"), (11, "Above.inner")
    ]  # fmt: skip


def test_a_decorated_function(tmp_path: Path) -> None:
    seen = raised(tmp_path, "import torch\n\n\n@torch.jit.script\ndef act(x):\n    return x if x else None + x\n")
    assert seen.user is not None
    assert seen.user.line == 6


FAILS = """\
import torch
from torch import nn


class Net(nn.Module):
    def inner(self, x):
        return x.view(3)

    def forward(self, x):
        return self.inner(x)


scripted = torch.jit.script(Net())
scripted(torch.randn(2, 4))
"""


def test_what_fails_in_the_interpreter_stands_at_its_line(tmp_path: Path) -> None:
    seen = raised(tmp_path, FAILS)
    assert seen.user is not None
    assert (seen.user.line, seen.first_line) == (7, "shape '[3]' is invalid for input of size 8")


@pytest.mark.parametrize(
    "text",
    [
        "shape '[3]' is invalid for input of size 8",
        'Caught RuntimeError in worker 0:\n  File "net.py", line 3, in <module>\n    x.view(3)',
        'invalid syntax\n  File "net.py", line 3\n    x =\n',
    ],
)
def test_other_messages_are_none_of_its_compiler(text: str) -> None:
    assert uncompiled(text) is None


def test_no_address_stays_in_the_sentence() -> None:
    found = uncompiled(
        "\n'__torch__.own.___torch_mangle_3.Layer (of Python compilation unit at: 0x5572)' object has no attribute 'a':\n"
        '  File "net.py", line 3\n    def forward(self, x):\n        return self.l.a\n               ~~~~ <--- HERE\n'
    )
    assert found is not None
    assert found.sentence == "'own.Layer' object has no attribute 'a'"
