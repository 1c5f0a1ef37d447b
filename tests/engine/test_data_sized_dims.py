"""The dim whose size depends on data: which one it is after an operation, and what is asked of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.symbols import Project
from exportlint.engine.values.abstract_value import UNKNOWN, Kind, Value, span_of

MODEL = """
import torch
import torch.nn.functional as F
from torch import nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(8, 3)
    def forward(self, x: torch.Tensor, keep: torch.Tensor):
        rows, n = x[x[:, 0] > 0], x.argmax().item()
        return {expression}
"""


def value_of(expression: str) -> Value:
    tree = ast.parse(MODEL.replace("{expression}", expression))
    engine, path = Engine(Project()), Path("/nowhere/net.py")
    engine.run(engine.project.add(path, tree))
    returned = next(n for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value)
    span = span_of(returned.value) if returned.value else None
    return engine.beliefs[path].values.get(span, UNKNOWN) if span else UNKNOWN


@pytest.mark.parametrize(
    ("expression", "place"),
    [
        ("rows", 0), ("rows * 2", 0), ("self.fc(rows)", 0), ("F.relu(rows)", 0), ("rows.unsqueeze(0)", 1),
        ("rows[None]", 1), ("rows.unsqueeze(1)", 0), ("rows.unsqueeze(-1)", 0), ("rows.t()", 1),
        ("rows[None].squeeze(0)", 0),
        ("rows[None].transpose(0, 1)", 0), ("rows.permute(1, 0)", 1), ("rows.sum(1)", 0), ("rows.sum(0)", None),
        ("rows.sum(0, keepdim=True)", None), ("rows[None].sum(0)", 0), ("rows[0]", None), ("rows[:, 0]", 0),
        ("rows[..., 1:]", 0), ("rows[..., 1:].flip(-1)", 0), ("rows.t()[..., 1:]", None),
        ("rows.view(-1, 2, 4)", 0), ("rows.reshape(1, -1, 8)", 1), ("rows[None].flatten(0, 1)", 0),
        ("torch.stack([rows, rows])", 1), ("torch.cat([rows, rows])", 0), ("x[:, : n]", 1), ("x.narrow(1, 0, n)", 1),
        ("torch.zeros(3, n)", 1), ("torch.arange(2, n)", 0), ("rows @ rows.t()", 0), ("x @ rows.t()", None),
        ("x", None),
    ],
)  # fmt: skip
def test_the_dim_is_followed_to_its_place(expression: str, place: int | None) -> None:
    assert value_of(expression).data_dim == place


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("rows.unsqueeze(0).size(1)", Kind.UNBACKED), ("rows.unsqueeze(0).size(0)", Kind.SIZE),
        ("rows.t().shape[1]", Kind.UNBACKED), ("rows.t().shape[0]", Kind.SIZE), ("rows.shape[1:][0]", Kind.SIZE),
        ("rows[None].shape[1:][0]", Kind.UNBACKED), ("len(rows)", Kind.UNBACKED), ("len(rows[None])", Kind.SIZE),
        ("rows[None].numel()", Kind.UNBACKED),
    ],
)  # fmt: skip
def test_its_size_is_a_number_from_data_and_the_others_are_sizes(expression: str, kind: Kind) -> None:
    assert value_of(expression).kind is kind
