"""What the trial said of models of public repositories, as `trial_runs.jsonl` keeps it, and the page of it."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from sources import ROOT

sys.path.insert(0, str(ROOT / "tests" / "real_code"))
import trial_page

RUNS: list[dict[str, Any]] = [json.loads(line) for line in trial_page.RUNS.read_text("utf-8").splitlines()]
MODES = [(run["name"], mode, one) for run in RUNS for mode, one in run.get("modes", {}).items()]


def test_the_page_is_what_the_runs_say() -> None:
    assert trial_page.PAGE.read_text("utf-8") == trial_page.page(RUNS)


def test_every_trial_ended_with_a_report() -> None:
    assert [run["name"] for run in RUNS if "modes" not in run] == []


@pytest.mark.parametrize(("name", "mode", "one"), MODES, ids=[f"{name} {mode}" for name, mode, _ in MODES])
def test_the_verdict_is_torch_s(name: str, mode: str, one: dict[str, Any]) -> None:
    assert one["said"] == one["measured"], f"{name} in {mode} mode"


def test_the_first_failing_line_is_torch_s_nearly_always() -> None:
    placed = [
        one["place"] == one["torch's"] for _, _, one in MODES if one["measured"] == "refused" and one["torch's"][0]
    ]
    assert sum(placed) >= 0.95 * len(placed)


def test_nothing_is_said_against_a_model_that_is_fine() -> None:
    assert [run["invented"] for run in RUNS if run.get("invented")] == []


def test_at_least_every_second_advice_helped() -> None:
    helped = [row[2] == "helped" for row in trial_page.advice_rows(RUNS)]
    assert sum(helped) >= 0.5 * len(helped)
