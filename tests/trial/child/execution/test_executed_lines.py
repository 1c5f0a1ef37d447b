"""Every line of the model's own code that runs is noted, whatever Python has for it, and nothing once it is over."""

from __future__ import annotations

import sys
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest
import torch

from exportlint.trial.child.execution import executed_lines
from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines, whole_functions

if TYPE_CHECKING:
    from pathlib import Path

SOURCE = """\
def double(x):
    return x * 2


def forward(x, deep):
    total = 0
    for i in range(3):
        if i == 7:
            total += 100
        total += double(x)
    try:
        raise ValueError
    except ValueError:
        total += 1
    later = [double(i) for i in range(2)]
    if deep:
        return forward(x, False)
    return total, later


def never():
    return 0
"""
RAN = {1, 2, 5, 6, 7, 8, 10, 11, 12, 13, 14, 15, 16, 17, 18}
# What traces line by line stands in for Python's own watching, which came with 3.12.
RECORDERS = [recorded_lines, lambda lines: executed_lines._traced(lines, defaultdict(set))]


@pytest.mark.parametrize("recorded", RECORDERS, ids=["by this Python", "by tracing"])
def test_the_lines_that_ran_are_noted(tmp_path: Path, recorded: Any) -> None:
    path = str(tmp_path / "net.py")
    namespace: dict[str, Any] = {}
    exec(compile(SOURCE, path, "exec"), namespace)  # noqa: S102 - our own text
    lines: Lines = defaultdict(set)
    before = sys.gettrace()
    with recorded(lines):
        namespace["forward"](1, deep=True)
    assert sys.gettrace() is before
    namespace["never"]()
    assert lines[path] == RAN


@pytest.mark.parametrize("recorded", RECORDERS, ids=["by this Python", "by tracing"])
def test_an_exception_ends_the_recording_and_goes_on(tmp_path: Path, recorded: Any) -> None:
    path = str(tmp_path / "net.py")
    namespace: dict[str, Any] = {}
    exec(compile("def forward():\n    x = 1\n    raise KeyError\n    x = 2\n", path, "exec"), namespace)  # noqa: S102 - as above
    lines: Lines = defaultdict(set)
    with pytest.raises(KeyError), recorded(lines):
        namespace["forward"]()
    assert lines[path] == {1, 2, 3}


COMPILED = """\
import torch


@torch.compile(backend="eager")
def part(x):
    x = x + 1
    x = x * 2
    return x


def forward(x):
    return part(x) - 1
"""


def test_a_function_that_was_compiled_tells_so_and_may_have_run_all_of_its_lines(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(COMPILED, "utf-8")
    namespace: dict[str, Any] = {}
    exec(compile(COMPILED, str(file), "exec"), namespace)  # noqa: S102 - as above
    lines, compiled = defaultdict[str, set[int]](set), defaultdict[str, set[int]](set)
    with recorded_lines(lines, compiled):
        namespace["forward"](torch.ones(2))
    assert 12 in lines[str(file)]
    assert not {6, 7, 8} <= lines[str(file)]
    assert whole_functions(str(file), compiled[str(file)]) == {4, 5, 6, 7, 8}
