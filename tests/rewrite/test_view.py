"""What names hold is told by what the function makes of them."""

from __future__ import annotations

import ast
from pathlib import Path

from exportlint.engine.source.parsed import Parsed
from exportlint.engine.source.symbols import Project
from exportlint.engine.values.abstract_value import Belief
from exportlint.rewrite.view import Nature, View


def natures(text: str) -> dict[str, Nature]:
    """Of each name that the function returns, by its text alone: the engine says nothing."""
    module = Project().add(Path("/nowhere/model.py"), Parsed(ast.parse(text), text))
    (function,) = module.functions.values()
    view = View(module, function, Belief())
    last = view.body[-1]
    assert isinstance(last, ast.Return)
    return {one.id: view.nature(one) for one in ast.walk(last) if isinstance(one, ast.Name)}


def test_names_that_are_made_of_many_others_are_told_in_no_time() -> None:
    """Each of three names twice: by all the ways there are through them, it would take as long as the world is old."""
    lines = [f"    a{n} = a{n - 1} * a{n - 2} + a{n - 1} * a{n - 3}" for n in range(3, 80)]
    head = ["import torch", "", "def blend(rows):", "    a0 = rows.sum()", "    a1 = 2", "    a2 = len(rows)"]
    assert natures("\n".join([*head, *lines, "    return a79, a1", ""])) == {"a79": Nature.DATA, "a1": Nature.PYTHON}


def test_names_that_are_made_of_each_other_hold_what_one_of_them_begins_with() -> None:
    text = """
import torch

def search(rows):
    low = rows.min()
    high = rows.max()
    steps = 0
    width = high
    while steps < 9:
        middle = (low + high) / 2
        low = middle
        high = low + width
        width = high - low
        count = steps + 1
        steps = count
    return middle, width, count
"""
    assert natures(text) == {"middle": Nature.DATA, "width": Nature.DATA, "count": Nature.PYTHON}
