"""`--output-format agent` through the command line: what a program gets that will mend a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from processes import exportlint

from exportlint.output.agent_cause import MOST_LINES

if TYPE_CHECKING:
    from pathlib import Path

NET = '''\
import torch
from torch import nn


class Pool(nn.Module):
    """Picks a row by what is in the data."""

    def forward(self, x: torch.Tensor):
        y = x * 2
        if y.mean() > 0:
            return y[:1]
        return y


model = Pool()
example_args = (torch.ones(2, 4),)
'''
SOURCE = """\
      8 |     def forward(self, x: torch.Tensor):
      9 |         y = x * 2  # [y: tensor, 2 dims (2, 4); from `x` of forward, line 8]
>    10 |         if y.mean() > 0:  # [y: tensor, 2 dims (2, 4); from line 9]
     11 |             return y[:1]
     12 |         return y
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "net.py").write_text(NET, "utf-8")
    return tmp_path


def agent(folder: Path, *arguments: str) -> str:
    done = exportlint(folder, *arguments, "--output-format", "agent")
    assert done.returncode == 1, done.stderr
    assert "\x1b" not in done.stdout
    sections = done.stdout.split("\n## ")
    assert all(len(section.splitlines()) <= MOST_LINES for section in sections)
    return done.stdout


def test_check_says_what_is_believed_and_what_was_measured_and_that_nothing_was_tried(folder: Path) -> None:
    text = agent(folder, "net.py")
    assert "## 1. data-dependent-branch, net.py:10:12\n\n- error, read in the source, not tried\n" in text
    assert SOURCE in text
    assert "a model of what fails; torch 2.13.0: refused in non-strict and strict:" in text
    assert "a model of what to write instead; torch 2.13.0: exports in non-strict and strict:" in text
    assert "`exportlint verify net.py`" in text
    assert "no model was run" in text.splitlines()[-1]


@pytest.mark.slow
def test_trial_says_what_torch_said_and_how_an_edit_is_verified(folder: Path) -> None:
    text = agent(folder, "trial", "net.py")
    assert "- error, confirmed by a trial: target net.py, stage export-non-strict" in text
    assert SOURCE in text
    assert "Could not guard on data-dependent expression" in text
    assert "net.py:10 forward: if y.mean() > 0:" in text
    assert "TORCHDYNAMO_EXTENDED_DEBUG" not in text
    assert "`exportlint verify net.py`" in text
    assert "no target of deployment" in text.splitlines()[-1]


@pytest.mark.slow
def test_fix_says_of_each_rewrite_why_it_was_not_taken(folder: Path) -> None:
    text = agent(folder, "fix", "net.py")
    assert "## Rewritten" not in text
    assert "not taken: the edited model computes something else" in text
    assert "1 cause left; 0 rewrites in the diff" in text.splitlines()[-1]


@pytest.mark.slow
def test_fix_shows_what_it_took_in_one_diff(folder: Path) -> None:
    (folder / "net.py").write_text(NET.replace("return y[:1]", "return y * 3"), "utf-8")
    done = exportlint(folder, "fix", "net.py", "--output-format", "agent")
    assert done.returncode == 0, done.stderr
    assert "after the rewrites: exports and agrees with eager" in done.stdout
    assert "- no more shown after it: data-dependent-branch, net.py:10:12" in done.stdout
    diff = done.stdout.split("```diff\n")[1].split("```")[0]
    assert exportlint(folder, "verify", "net.py", "--patch", "-", stdin=diff.encode()).returncode == 0


def test_where_nothing_is_found_one_line_says_what_was_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text("import torch\n", "utf-8")
    done = exportlint(tmp_path, "check", "net.py", "--output-format", "agent")
    assert done.returncode == 0
    (line,) = done.stdout.splitlines()
    assert line.startswith("Found nothing in 1 file")
    assert line.endswith("no model was run, and nothing was exported.")
