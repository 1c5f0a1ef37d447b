"""What is believed of an expression, in words."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from exportlint.engine.source.parsed import FileStore
from exportlint.engine.values.in_words import in_words
from exportlint.static.beliefs import beliefs_after

if TYPE_CHECKING:
    from pathlib import Path

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(4)
        self.register_buffer("scale", torch.ones(4))
        self.limit, self.least, self.traced = 0.5, 0.0, True

    def forward(self, x, mask=None):
        rows = x[x > 0]
        count = x.sum().item()
        pair = (x, self.scale)
        width = x.shape[1]
        {here}


model = Net()
example_args = (torch.ones(2, 4),)
"""


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x", "tensor, 2 dims (2, 4), an input"),
        ("rows", "tensor, data says how large its dim 0 is"),
        ("count", "number that is read out of the data of a tensor"),
        ("pair", "tuple of 2"),
        ("width", "size 4"),
        ("self.norm", "module torch.nn.LayerNorm"),
        ("self.scale", "tensor, 1 dim (4), a buffer"),
        ("self.limit", "Python float other than 0"),
        ("self.least", "Python float 0"),
        ("self.traced", "Python bool True"),
        ("'a'", "Python str a"),
        ("nothing_known", ""),
    ],
)
def test_an_expression_is_told_in_a_line(tmp_path: Path, code: str, words: str) -> None:
    path = tmp_path / "net.py"
    path.write_text(NET.format(here=f"print({code})"), "utf-8")
    (call,) = (
        one
        for one in ast.walk(ast.parse(path.read_text("utf-8")))
        if ast.unparse(one) == f"print({code})" and isinstance(one, ast.Call)
    )
    node = call.args[0]
    place = (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)
    beliefs = beliefs_after(path, FileStore()).get(path, {})
    told = in_words(beliefs[place], path) if place in beliefs else ""
    assert told.partition(";")[0] == words
