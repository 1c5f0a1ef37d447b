"""An exported program is saved, loaded by another version, decomposed to the core operators, one of them otherwise."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING

import pytest
from processes import exportlint

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

MIXER = """\
import torch
from torch import nn


class Mixer(nn.Module):
    def __init__(self):
        super().__init__()
        self.mix = nn.Linear(4, 4)

    def forward(self, x):
        y = nn.functional.silu(self.mix(x))
        return torch.special.i0e(y)


def soft(x):
    return x * 0.5 * (1 + torch.tanh(x * 0.5))


model = Mixer().eval()
example_args = (torch.randn(2, 4),)
"""
STAMPED = """\
import torch
from torch import nn


@torch.library.custom_op("post::stamp", mutates_args=())
def stamp(x: torch.Tensor) -> torch.Tensor:
    return x + 1


@stamp.register_fake
def _(x):
    return torch.empty_like(x)


class Letter(nn.Module):
    def forward(self, x):
        return stamp(x)


model = Letter()
example_args = (torch.randn(2, 4),)
"""


@pytest.fixture(scope="module")
def report(say: Callable[..., str], other_python: Path) -> str:
    said = say("trial", MIXER, "--decompose", "aten.silu=net.py:soft", "--read-with", str(other_python))
    return " ".join(said.split())


@pytest.mark.clause("ladder stages with a result each")
def test_decomposing_and_saving_are_stages(report: str) -> None:
    assert re.search(r"decompose passed \d", report)
    assert re.search(r"save-load passed \d", report)


@pytest.mark.clause("non-core ops listed with their lines")
def test_an_operator_outside_of_the_core_set_is_named_at_its_line(report: str) -> None:
    assert "`aten.special_i0e.default` is not in the Core ATen operator set" in report
    assert "net.py:12:9" in report


@pytest.mark.clause("the schema and opset versions of the saved program")
def test_the_versions_of_the_file_are_told(report: str) -> None:
    assert re.search(r"kB, schema \d+\.\d+, opset aten \d+, torch \d", report)


@pytest.mark.clause("whether another environment's torch reads it")
def test_another_interpreter_reads_the_program_and_agrees(report: str, other_python: Path) -> None:
    unbroken = "".join(report.split())  # a long path is broken at the edge of the report
    assert re.search(rf"read-elsewherepassed\S+of{re.escape(str(other_python))}readstheprogram", unbroken)


@pytest.mark.clause("a program that the other torch cannot read is said to be so")
def test_an_operator_that_the_other_environment_lacks_is_named(say: Callable[..., str], other_python: Path) -> None:
    report = " ".join(say("trial", STAMPED, "--read-with", str(other_python)).split())
    assert "does not read the program" in report
    assert "post" in report.partition("does not read the program")[2]


@pytest.mark.clause("a table that shows what one swapped decomposition changes")
def test_the_operators_that_occur_otherwise_are_counted(report: str) -> None:
    assert re.search(r"swap-decomposition passed \S+ \d operators occur otherwise", report)
    assert "aten.sigmoid.default 1 0" in report
    assert "aten.tanh.default 0 1" in report


@pytest.mark.clause("what cannot be tried is said to be so")
@pytest.mark.parametrize(
    ("decompose", "why"),
    [("aten.nosuch=net.py:soft", "torch has no such operator"), ("aten.silu=nowhere:f", "No module named 'nowhere'")],
)
def test_a_request_that_names_nothing_ends_as_an_error(tmp_path: Path, decompose: str, why: str) -> None:
    (tmp_path / "net.py").write_text(MIXER, "utf-8")
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n', "utf-8")
    python.chmod(0o755)
    asked = ("--mode", "non-strict", "--decompose", decompose, "--read-with", "./python")
    done = exportlint(tmp_path, "trial", "net.py", *asked)
    assert done.returncode == 2
    assert why in done.stderr
    assert "python has no torch: ModuleNotFoundError" in done.stderr
