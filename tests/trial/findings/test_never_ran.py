"""Which lines the calls of a function never ran, what kept the calls out, and what would reach them."""

from __future__ import annotations

import sys
from collections import defaultdict
from importlib.util import module_from_spec, spec_from_file_location
from typing import TYPE_CHECKING

import pytest

from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines
from exportlint.trial.findings.never_ran import region_message, regions

if TYPE_CHECKING:
    from pathlib import Path

# `call` is what runs: with x = 2 and nothing else.
HEAD = """\
import logging


class Net:
    training = False
    deep = 0

    def forward(self, x, mask=None, keep=True):
"""
TAIL = """

def call():
    return Net().forward(2)
"""


def told(tmp_path: Path, body: str, more: str = "") -> list[tuple[int, str]]:
    """The first line of each region, counted from the body, and its message."""
    text = HEAD + "".join(f"        {line}\n" for line in body.splitlines()) + more + TAIL
    file = tmp_path / "net.py"
    file.write_text(text, "utf-8")
    spec = spec_from_file_location("net_of_this_test", file)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    lines: Lines = defaultdict(set)
    with recorded_lines(lines):
        module.call()
    start = HEAD.count("\n")
    return [(one.line - start, region_message(one)) for one in regions(str(file), frozenset(lines[str(file)]))]


@pytest.mark.parametrize(
    ("body", "line", "needs"),
    [
        ("if self.training:\n    x += 1\nreturn x", 2, "needs train mode"),
        ("if not self.training:\n    x += 1\nelse:\n    x -= 1\nreturn x", 4, "needs train mode"),
        ("if mask is not None:\n    x += mask\nreturn x", 2, "needs a `mask`"),
        ("if mask is None:\n    return x\nreturn x + mask", 3, "needs a `mask`"),
        ("if keep:\n    return x\nreturn -x", 3, "needs `keep` to be false"),
        ("if x > 8:\n    x = 8\nreturn x", 2, "needs `x > 8`"),
        ("for x in (1, 9):\n    if x > 8:\n        break\n    elif x:\n        continue\n    x = 0", 6, "past line 10"),
        ("if x > 1:\n    x = 1\nelif x > 0:\n    x = 0\nelse:\n    x = 8\nreturn x", 3, "needs `x <= 1`"),
        ("if x > 8 and keep:\n    x = 8\nreturn x", 2, "needs `x > 8` and `keep` to be true"),
        ("if x < 8 or keep:\n    return x\nreturn 8", 3, "needs `x >= 8` and `keep` to be false"),
        (
            "if self.deep:\n    x += 1\nreturn x",
            2,
            "needs `self.deep` (line 9), an attribute of the model, which was false",
        ),
        ("for one in mask or ():\n    x += one\nreturn x", 2, "never went round; needs an element in `mask or ()`"),
        ("while x > 8:\n    x -= 1\nreturn x", 2, "needs `x > 8`"),
        ("for _ in range(3):\n    break\nelse:\n    x = 0\nreturn x", 4, "the loop of line 9 never came to its end"),
        ("match x:\n    case 1:\n        x = 0\n    case _:\n        x = 3\nreturn x", 3, "needs `x` to match `1`"),
        ("try:\n    x += 1\nexcept TypeError:\n    x = 0\nreturn x", 4, "needs TypeError to be raised"),
        ("with open(__file__) as f:\n    return x\n    x = 1", None, ""),
        ("def inner(y):\n    return y\nreturn inner(x) if mask else x", None, ""),
        ("return [y for y in (x,) if y > 8]", None, ""),
        ("def double(y):\n    return y * 2\nreturn list(map(double, []))", None, ""),
    ],
)
def test_a_region_says_what_would_reach_it(tmp_path: Path, body: str, line: int | None, needs: str) -> None:
    found = told(tmp_path, body)
    assert [one for one, _ in found] == ([] if line is None else [line])
    assert all(needs in message for _, message in found)


@pytest.mark.parametrize(
    "body",
    [
        "if x > 8:\n    raise ValueError(x)\nreturn x",
        "if x > 8:\n    text = f'{x} is too large'\n    raise ValueError(text)\nreturn x",
        "if x > 8:\n    logging.warning('large')\nreturn x",
        "if mask is not None and torch.jit.is_scripting():\n    x += 1\nreturn x",
        '"""What it does."""\nreturn x',
        "y: int\ny = x\nreturn y",
        "if x > 8: x = 8\nreturn x",
    ],
    ids=["refuses", "refuses in words", "logs", "asks for a trace", "docstring", "annotation", "one line"],
)
def test_what_no_input_should_reach_and_what_nobody_can_tell_is_no_region(tmp_path: Path, body: str) -> None:
    assert told(tmp_path, body) == []


METHODS = """\

    def masked(self, x, mask):
        return self.shifted(x) * mask

    def shifted(self, x):
        return x + 1

    def training_step(self, x):
        return self.forward(x)
"""


def test_a_method_that_only_such_lines_call_is_a_region_and_one_that_nothing_calls_is_none(tmp_path: Path) -> None:
    found = told(tmp_path, "if mask is not None:\n    x = self.masked(x, mask)\nreturn x", METHODS)
    assert [line for line, _ in found] == [2, 5, 8]
    assert "`masked` is called at line 10, which never ran" in found[1][1]
    assert "`shifted` is called at line 14, which never ran" in found[2][1]


def test_a_method_that_is_called_in_another_way_too_is_none(tmp_path: Path) -> None:
    """Something may call it later that no line shows, such as torch.cond."""
    body = "later = [self.masked]\nif mask is not None:\n    x = self.masked(x, mask)\nreturn x"
    assert [line for line, _ in told(tmp_path, body, METHODS)] == [3]
