"""The format `agent`: how long the section of a cause gets, and what is cut first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sample import BRANCH, REPORT, TARGET

from exportlint.finding import Applicability, Edit, Finding, Fix
from exportlint.output.agent_cause import MOST_LINES, cause_lines
from exportlint.output.background import Background, KnownRewrite, MeasuredExample
from exportlint.output.verdict import Cause
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.result import StageResult

if TYPE_CHECKING:
    from exportlint.output.report import Report

PLACE = 150


def long_report(lines: int, example: int, *, said: int, rewrites: int) -> Report:
    """A function of so many lines, models and torch's words likewise, and as many rewrites."""
    body = [f"        x{number} = x + {number}" for number in range(3, lines + 1)]
    source = ["class Net:", "    def forward(self, x):", *body]
    models = [MeasuredExample(name, "a model", "measured", ("# line",) * example) for name in ("Bad", "Good")]
    ways = [KnownRewrite(f"way {number}", "not taken: no help", ("+ line",) * 30) for number in range(rewrites)]
    here = Frame(str(Path.cwd() / BRANCH.path), PLACE, "forward", "")
    seen = Observation("exception", "torch says\n" * said, "Error", (here,) * 9, here)
    stages = (StageResult("export-non-strict", "refused", observations=(seen,)),)
    return replace(
        REPORT,
        source=lambda _path, line: source[line - 1] if line <= len(source) else None,
        targets=(replace(TARGET, stages=stages),),
        background=Background(
            lambda _finding: {5: ("x: tensor",), PLACE: ("x: tensor",)}, lambda _finding: models, lambda _finding: ways
        ),
    )


def cause(finding: Finding = BRANCH) -> Cause:
    here = replace(finding, line=PLACE, end_line=PLACE)
    return Cause((here, *(replace(here, column=column) for column in range(20))))


@pytest.mark.parametrize("said", [1, 100])
@pytest.mark.parametrize("rewrites", [0, 3, 50])
@pytest.mark.parametrize("example", [3, 20, 500])
@pytest.mark.parametrize("lines", [PLACE, PLACE + 1, 900])
def test_a_cause_is_never_longer_than_the_limit(lines: int, example: int, rewrites: int, said: int) -> None:
    shown = cause_lines(cause(), long_report(lines, example, said=said, rewrites=rewrites), 1)
    assert len(shown) <= MOST_LINES
    assert "\n" not in "".join(shown)
    assert sum(line.startswith(f">   {PLACE} |") for line in shown) == 1
    assert any(line.startswith("`exportlint verify") for line in shown)


def test_examples_are_cut_before_the_source_and_it_is_said() -> None:
    text = "\n".join(cause_lines(cause(), long_report(900, 500, said=1, rewrites=3), 1))
    assert "500 more lines: exportlint explain data-dependent-branch" in text
    for line in ("      2 |     def forward(self, x):", "      5 |         x5 = x + 5  # [x: tensor]"):
        assert line in text
    assert "\n        … " in text
    assert "more lines\n```\n\n### What torch said" in text, "the end of the function is missing, too"


def test_a_proposal_is_never_told_as_tried() -> None:
    whole = Fix("write it so", Applicability.SAFE, (Edit(BRANCH.path, (3, 9), (3, 11), "y"),))
    report = replace(long_report(200, 3, said=1, rewrites=0), background=Background())
    text = "\n".join(cause_lines(cause(replace(BRANCH, rewrites=(whole,), fix=whole)), report, 1))
    assert "1. write it so: not tried; right by construction, as its rule says" in text
    assert "+        y = x + 3" in text
    broken = replace(whole, edits=(Edit(BRANCH.path, (3, 9), (3, 11), "(("),))
    text = "\n".join(cause_lines(cause(replace(BRANCH, rewrites=(broken,), fix=broken)), report, 1))
    assert "as it stands it breaks the file" in text
