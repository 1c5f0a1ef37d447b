"""Samples break what is declared of sizes; sizes of two inputs must be equal; a test in the code narrows a size."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

SCORES = """\
import torch
from torch import nn
from torch.export import Dim


class Scores(nn.Module):
    def forward(self, queries, keys):
        scores = queries @ keys
        if queries.shape[0] <= 12:
            return torch.softmax(scores, -1)
        return scores


class TooFew(Scores):
    @staticmethod
    def inputs():
        return torch.randn(3, 6), torch.randn(6, 5)

    @staticmethod
    def dynamic_shapes():
        return {"queries": {0: Dim("rows", min=4, max=8)}, "keys": None}


class Declared(Scores):
    @staticmethod
    def inputs():
        return torch.randn(3, 6), torch.randn(6, 5)

    @staticmethod
    def dynamic_shapes():
        return {"queries": {0: Dim("rows", min=2, max=50), 1: Dim("inner")}, "keys": {0: Dim("other")}}
"""


@pytest.fixture(scope="module")
def report(say: Callable[..., str]) -> str:
    return say("trial", SCORES)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.clause("sample inputs that violate the declared constraints")
def test_a_sample_outside_of_its_range_is_a_sentence(report: str) -> None:
    assert "the sample's dim 0 of `queries` is 3, declared dynamic as `rows` from 4 to 8" in flat(report)


@pytest.mark.clause("equality of dims across inputs (`x @ y`): a readable sentence, and the line that caused it")
def test_dims_that_meet_must_be_equal_at_their_line(report: str) -> None:
    said = "dim 1 of `queries` (declared dynamic as `inner`) and dim 0 of `keys` (`other`) must be equal at this line"
    assert said in flat(report)
    assert "scores = queries @ keys" in report


@pytest.mark.clause("a size test in the code that narrows a dim: a readable sentence, and the line that caused it")
def test_a_test_of_a_size_narrows_the_dim_at_its_line(report: str) -> None:
    said = "dim 0 of `queries`, declared dynamic (from 2 to 50), can only be from 2 to 12 because of this line"
    assert said in flat(report)
    assert "if queries.shape[0] <= 12:" in report


@pytest.mark.clause("the ready-to-paste `dynamic_shapes`")
def test_the_declaration_that_holds_can_be_pasted(report: str, tmp_path: Path) -> None:
    code = (
        'rows = Dim("rows", min=2, max=12)\n    inner = Dim("inner", min=1)\n'
        "    dynamic_shapes = {\n        'queries': {0: rows, 1: inner},\n        'keys': {0: inner},\n    }"
    )
    assert code in report
    pasted = code.replace("\n    ", "\n")
    (tmp_path / "pasted.py").write_text(SCORES + pasted + RUN, "utf-8")
    done = subprocess.run([sys.executable, "pasted.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


RUN = """
model = Scores()
sample = torch.randn(3, 6), torch.randn(6, 5)
program = torch.export.export(model, sample, dynamic_shapes=dynamic_shapes).module()
for rows, inner in ((2, 1), (12, 9)):
    given = torch.randn(rows, inner), torch.randn(inner, 5)
    torch.testing.assert_close(program(*given), model(*given))
"""


MIX = """\
import torch
from torch import nn
from torch.export import Dim


class Mix(nn.Module):
    def forward(self, a, b):
        return a @ b


model = Mix()
example_args = (torch.randn(4, 6), torch.randn(6, 5))
dynamic_shapes = {"a": {1: Dim("k", min=8, max=64)}, "b": {0: Dim("k", min=8, max=64)}}
"""


@pytest.mark.clause("a sample outside of its range: which number to change, and a proposal with all sizes allowed")
def test_the_number_to_change_is_named_and_what_holds_is_proposed(say: Callable[..., str]) -> None:
    found = flat(say("trial", MIX))
    assert "give a sample with 8 or more instead of 6 there, or declare a range that has 6" in found
    assert "dynamic_shapes = { 'a': {1: a_1}, 'b': {0: a_1}, }" in found
