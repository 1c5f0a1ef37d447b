"""What a report counts, and what it only mentions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.config.settings import Config
from exportlint.finding import Evidence, Finding, Severity
from exportlint.output.report import Shown
from exportlint.trial.protocol.result import TargetReport
from exportlint.workflow.report_building import Gathered, build_report

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def found(line: int, rule: str = "data-dependent-branch", evidence: Evidence = Evidence.SUSPECTED) -> Finding:
    return Finding(rule, "net.py", line, 1, line, 9, Severity.ERROR, "no", evidence)


def config(folder: Path) -> Config:
    return Config(folder, (), (), "non-strict", "2.13.0", torch_chosen=True)


def gathered(folder: Path, *findings: Finding, ran: frozenset[int] | None = frozenset({5})) -> Gathered:
    executed = {} if ran is None else {str(folder / "net.py"): ran}
    target = TargetReport("net.py", "net.py", 1, (), executed)
    return Gathered((), 1, findings, targets=(target,), only_what_ran=True)


def test_what_is_suspected_where_no_target_ran_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = build_report(gathered(tmp_path, found(5), found(9)), config(tmp_path))
    assert [one.line for one in report.findings] == [5]
    assert [one.line for one in report.shown] == [5]
    assert report.headline.endswith("; 1 suspected in code that no target ran (--show-suspected)")


def test_it_is_shown_when_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    report = build_report(gathered(tmp_path, found(9)), config(tmp_path), Shown(suspected=True))
    assert [(one.line, report.label(one)) for one in report.shown] == [(9, " (never ran)")]


def test_what_a_trial_found_and_what_is_about_files_counts_wherever_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    both = found(9, evidence=Evidence.DISCOVERED), found(10, "old-export-api")
    assert [one.line for one in build_report(gathered(tmp_path, *both), config(tmp_path)).findings] == [9, 10]


def test_where_no_target_ran_at_all_suspicions_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert build_report(gathered(tmp_path, found(9), ran=None), config(tmp_path)).findings != ()


def test_in_files_that_somebody_asked_about_all_suspicions_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    asked = replace(gathered(tmp_path, found(9)), only_what_ran=False)
    assert [one.line for one in build_report(asked, config(tmp_path)).findings] == [9]
