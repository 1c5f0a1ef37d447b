"""Sizes that a sample gives: the dims of what is computed from it, and the tests that they settle."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from exportlint.engine.interpreter.engine import Engine
from exportlint.engine.source.symbols import Project
from exportlint.engine.values import extents
from exportlint.engine.values.abstract_value import UNKNOWN, Value, span_of
from exportlint.engine.values.extents import DeclaredDim, Extent, declared, number
from exportlint.engine.values.shapes import dims_of, extent_of

MODEL = """
import torch
from torch import nn
from torch.export import Dim
class Net(nn.Module):
    def __init__(self, length=16):
        super().__init__()
        self.length = length
        self.fc = nn.Linear(8, 3)
        self.named = nn.Linear(in_features=8, out_features=3)
        self.rnn = nn.GRU(8, 6, num_layers=2, batch_first=True)
        self.pool = nn.MaxPool1d(2)
        self.emb = nn.Embedding(10, 8)
        self.same = nn.Conv1d(8, 5, kernel_size=3, padding=1)
        self.half = nn.Conv1d(8, 5, 3, stride=2, padding=1)
        self.patch = nn.Conv1d(8, 5, (4,), (4,))
        self.table = nn.Parameter(torch.zeros(1, length, 8))
    def forward(self, x):
        b, t, c = x.shape
        return {expression}
net = Net()
torch.export.export(net, (torch.randn(4, 16, 8),), dynamic_shapes={"x": {1: Dim("time", min=2, max=32)}})
"""
TIME = DeclaredDim("time", 2, 32)


def value_of(expression: str) -> Value:
    tree = ast.parse(MODEL.replace("{expression}", expression))
    engine, path = Engine(Project()), Path("/nowhere/net.py")
    engine.run(engine.project.add(path, tree))
    returned = next(n for n in ast.walk(tree) if isinstance(n, ast.Return) and n.value)
    span = span_of(returned.value) if returned.value else None
    return engine.beliefs[path].values.get(span, UNKNOWN) if span else UNKNOWN


def written(extent: Extent | None) -> str:
    """ "t" for the declared dim, "2*t+1", a number, or "?"."""
    if extent is None or extent.terms is None:
        return "?"
    parts = ["t" if factor == 1 else f"{factor}*t" for _, factor in extent.terms]
    return "+".join([*parts, *([str(extent.offset)] if extent.offset or not parts else [])])


@pytest.mark.parametrize(
    ("expression", "dims"),
    [
        ("x + 1", "4 t 8"),
        ("x.transpose(1, 2)", "4 8 t"),
        ("x[:, 1:]", "4 t+-1 8"),
        ("x[:, -1]", "4 8"),
        ("x[:, None, :, 0]", "4 1 t"),
        ("x.view(b, t, 2, -1)", "4 t 2 4"),
        ("x.reshape(b * t, c)", "4*t 8"),
        ("x.flatten(1)", "4 8*t"),
        ("x.sum(1)", "4 8"),
        ("x.mean(-1, keepdim=True)", "4 t 1"),
        ("self.fc(x)", "4 t 3"),
        ("self.named(torch.log1p(x))", "4 t 3"),
        ("self.rnn(x)[0]", "4 t 6"),
        ("self.rnn(x)[1]", "2 4 6"),
        ("self.pool(x)", "4 t 4"),
        ("x @ x.transpose(1, 2)", "4 t t"),
        ("torch.cat([x, x], dim=1)", "4 2*t 8"),
        ("torch.stack([x, x])", "2 4 t 8"),
        ("x.unsqueeze(0)", "1 4 t 8"),
        ("self.emb(torch.arange(t))", "t 8"),
        ("self.table[:, :t]", "1 t 8"),
        ("x.permute(2, 0, 1)", "8 4 t"),
        ("x > 0", "4 t 8"),
        ("x.repeat(2, 1, 1)", "8 t 8"),
        ("torch.zeros(b, t, self.length)", "4 t 16"),
        ("self.same(x.mT)", "4 5 t"),
        ("self.half(torch.cat([x, x], 1).mT)", "4 5 t"),
        ("self.patch(torch.cat([x, x], 1).repeat(1, 2, 1).mT)", "4 5 t"),
        ("self.patch(x.mT)", "4 5 ?"),
        ("x.mT", "4 8 t"),
        ("x.flatten(1).T", "8*t 4"),
        ("x.sum(2, keepdim=False)", "4 t"),
        ("x.mean(axis=1, keepdims=True)", "4 1 8"),
        ("torch.sum(input=x, dim=1)", "4 8"),
        ("x.norm(2, -1)", "4 t"),
        ("x.std(1, True)", "4 8"),
        ("torch.cat([x, x], axis=2)", "4 t 16"),
        ("torch.tensor([[1, 2, 3], [4, 5, 6]])", "2 3"),
        ("torch.tensor(1.5)", ""),
        ("x[torch.tensor([0, 1, 1, 3, 2])]", "5 t 8"),
        ("x.index_add_(0, torch.tensor([0, 1]), x[:2])", "4 t 8"),
    ],
)
def test_an_operation_gives_dims_by_those_of_its_operands(expression: str, dims: str) -> None:
    found = dims_of(value_of(expression))
    assert found is not None
    assert " ".join(map(written, found)) == dims


@pytest.mark.parametrize(
    ("test", "truth"),
    [
        ("t > 32", False), ("t <= 32", True), ("t >= 2", True), ("t > 16", None), ("t == 40", False),
        ("b == 4", True), ("c % 2 == 0", True), ("t % 2 == 0", None), ("(2 * t) % 2 == 0", True),
        ("t + 1 > t", True), ("len(x) == 4", True), ("x.shape == (4, 16, 8)", None), ("x.shape[2:] == (8,)", True),
        ("min(t, 64) == t", True), ("max(t, 1) < t", False), ("self.length < t", None), ("x.size(-1) != 8", False),
    ],
)  # fmt: skip
def test_a_test_is_settled_where_it_is_the_same_for_every_declared_size(test: str, truth: bool | None) -> None:
    assert value_of(test).truth is truth


def test_a_size_keeps_what_it_is_made_of() -> None:
    extent = extent_of(value_of("2 * t - 1"))
    assert extent is not None
    assert (extent.low, extent.high, written(extent)) == (3, 63, "2*t+-1")


WHOLE = st.integers(-50, 50)
SIZES = st.integers(2, 32)


@given(WHOLE, WHOLE, WHOLE, WHOLE, SIZES)
def test_sums_and_products_hold_for_every_size(a: int, b: int, c: int, d: int, size: int) -> None:
    def linear(factor: int, offset: int) -> Extent:
        return extents.plus(number(offset), declared(TIME), factor)

    left, right = linear(a, b), linear(c, d)
    for made, at in (
        (extents.plus(left, right), (a * size + b) + (c * size + d)),
        (extents.plus(left, right, -1), (a * size + b) - (c * size + d)),
        (extents.times(left, right), (a * size + b) * (c * size + d)),
    ):
        assert made.low <= at <= made.high
    below, same = extents.less(left, right), extents.equal(left, right)
    assert below in {None, a * size + b < c * size + d}
    assert same in {None, a * size + b == c * size + d}
