"""Settings of Dynamo under which a number, a size that depends on data, or a recurrent layer stays in the graph."""

from __future__ import annotations

import pytest
import torch
from proposed import proposed

MODEL = """
import torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.GRU(3, 4, batch_first=True)
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        {line}
"""


def settings(line: str, at: str) -> list[str]:
    """The names that the first proposal sets above the class."""
    texts = proposed(MODEL.format(line=line), at, "dynamo-settings")
    head = texts[0].split("class Net")[0] if texts else ""
    names = [one.removeprefix("torch._dynamo.config.") for one in head.splitlines() if "config." in one]
    assert all(name.endswith(" = True") for name in names)
    return sorted(name.removesuffix(" = True") for name in names)


@pytest.mark.parametrize(
    ("line", "at", "names"),
    [
        ("return x * x.max().item()", "x.max().item()", ["capture_scalar_outputs"]),
        ("return x[:, : int(x.max())]", "int(x.max())", ["capture_scalar_outputs"]),
        ("return x[x > 0].sum()", "x[x > 0]", ["capture_dynamic_output_shape_ops"]),
        ("return x.nonzero()", "x.nonzero()", ["capture_dynamic_output_shape_ops"]),
        (
            "return x.unique().max().item()",
            "x.unique().max().item()",
            ["capture_dynamic_output_shape_ops", "capture_scalar_outputs"],
        ),
        ("return self.rnn(x)[0]", "self.rnn(x)", ["allow_rnn"]),
        ("return self.head(x)", "self.head(x)", []),
        ("return x[:, 0]", "x[:, 0]", []),
    ],
)
def test_what_the_statement_needs_is_set_above_the_class(line: str, at: str, names: list[str]) -> None:
    assert settings(line, at) == names
    assert all(hasattr(torch._dynamo.config, name) for name in names)


@pytest.mark.parametrize(
    ("cause", "name"),
    [
        ("number", "capture_scalar_outputs"),
        ("size", "capture_dynamic_output_shape_ops"),
        ("recurrent", "allow_rnn"),
    ],
)
def test_what_torch_said_of_the_line_counts_too(cause: str, name: str) -> None:
    """Where the text does not tell: a layer by a name that is given, a number that a helper reads."""
    (text,) = proposed(MODEL.format(line="return self.other(x)"), "self.other(x)", "dynamo-settings", cause=cause)
    assert text.split("class Net")[0].rstrip().endswith(f"torch._dynamo.config.{name} = True")


def test_what_is_set_already_is_not_set_again() -> None:
    text = MODEL.format(line="return x.max().item()").replace(
        "class Net", "torch._dynamo.config.capture_scalar_outputs = True\n\nclass Net"
    )
    assert proposed(text, "x.max().item()", "dynamo-settings") == []


def test_a_row_by_the_number_of_a_loop_is_no_selection_by_data() -> None:
    text = """
import torch
from torch import nn

class Net(nn.Module):
    def forward(self, x):
        rows = torch.zeros(3, 4)
        for number in range(3):
            rows[number] = x[number]
        return rows
"""
    assert proposed(text, "rows[number] = x[number]", "dynamo-settings") == []


def test_it_stands_behind_the_import_of_torch() -> None:
    """Which may come late, or after all definitions."""
    text = """
import math

def double(x):
    return 2 * x

import torch

def read(x):
    return x.max().item()
"""
    (late,) = proposed(text, "x.max().item()", "dynamo-settings")
    assert late.index("import torch") < late.index("torch._dynamo.config") < late.index("def read")
    text = text.replace("import torch\n", "") + "\nimport torch\n"
    (last,) = proposed(text, "x.max().item()", "dynamo-settings", cause="number")
    assert last.rstrip().endswith("import torch\ntorch._dynamo.config.capture_scalar_outputs = True")
