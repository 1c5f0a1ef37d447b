"""Lines that no sample ran: a count in the report, the source with --coverage, nothing on pull requests."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sample import DATA, REPORT, TARGET

from exportlint.finding import Evidence, Finding, Severity
from exportlint.output import markdown, render
from exportlint.output.report import RenderOptions, Report, Shown

UNRUN = Finding(
    "trial-never-ran",
    "src/model.py",
    5,
    13,
    6,
    28,
    Severity.NOTE,
    "lines 5 to 6 never ran: `x.sum() > 0` (line 4) was false in every call; nothing is known of them",
    Evidence.DISCOVERED,
    target=TARGET.name,
    stage="eager",
)


@pytest.fixture
def report() -> Report:
    target = replace(TARGET, graph=None)
    return Report("2.13.0", "strict", 1, (UNRUN, DATA), targets=(target,), source=REPORT.source)


def test_the_report_counts_them(report: Report) -> None:
    says = "the samples never ran 1 region of the code, so nothing is known there"
    assert f"{says} (--coverage shows them)" in render("full", report, RenderOptions())
    assert says in markdown.job_summary(report)
    assert "lines 5 to 6 never ran" not in render("full", report, RenderOptions())


def test_coverage_shows_them_in_the_source_with_what_is_suspected_there(report: Report) -> None:
    text = render("full", replace(report, also=Shown(coverage=True)), RenderOptions())
    listing = text[text.index("\nsrc/model.py\n") :].splitlines()[2:8]
    assert listing == [
        "     3   |     def forward(self, x):",
        "     4   |         if x.sum() > 0:  # 100%, they said",
        "     5 ! |             x = x.data",
        f"         | suspected, not known: {DATA.rule}",
        "     6 ! |      if (x > 0).any() and y:",
        f"         = {UNRUN.message}",
    ]


@pytest.mark.parametrize(("name", "is_listed"), [("concise", True), ("json", True), ("github", False)])
def test_machines_get_each_and_pull_requests_none(report: Report, name: str, *, is_listed: bool) -> None:
    assert ("never ran" in render(name, report, RenderOptions())) == is_listed
