"""The format `gitlab`: what GitLab shows beside the lines of a merge request, its report of code quality.

https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format names the fields. It knows problems at lines
alone, so the ladders of targets are left out: the format `junit` has them.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from itertools import filterfalse
from typing import TYPE_CHECKING, Any

from exportlint.finding import Finding, Problem, Severity
from exportlint.output.checkout import from_checkout
from exportlint.output.verdict import is_about_coverage

if TYPE_CHECKING:
    from exportlint.output.report import RenderOptions, Report

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}


def render(report: Report, options: RenderOptions) -> str:
    del options  # the same on a terminal and in a file
    found = sorted(filterfalse(is_about_coverage, report.findings), key=lambda finding: finding.sort_key)
    issues = [*map(_of_problem, report.problems), *map(_of_finding, found)]
    return json.dumps(_unique(issues), indent=2) + "\n"


def _of_finding(finding: Finding) -> dict[str, Any]:
    instead = f". Instead: {finding.fix.description}" if finding.fix else ""
    return _issue(
        finding.rule,
        " ".join(f"{finding.message}{instead}".split()),
        _SEVERITIES[finding.severity],
        (finding.path, finding.line, finding.end_line),
        finding.fingerprint,
    )


def _of_problem(problem: Problem) -> dict[str, Any]:
    line = problem.line or 1
    print_of = hashlib.sha256(f"{problem.path}\0{problem.message}".encode()).hexdigest()[:16]
    return _issue("not-checked", problem.message, "blocker", (problem.path, line, line), print_of)


def _issue(
    check: str, description: str, severity: str, place: tuple[str, int, int], fingerprint: str
) -> dict[str, Any]:
    path, first, last = place
    return {
        "description": description,
        "check_name": check,
        "fingerprint": fingerprint,
        "severity": severity,
        "location": {"path": from_checkout(path), "lines": {"begin": first, "end": last}},
    }


def _unique(issues: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """GitLab shows one of those that share a fingerprint, and two targets may fail at one line in one way."""
    seen: Counter[str] = Counter()
    for issue in issues:
        own = issue["fingerprint"]
        seen[own] += 1
        if seen[own] > 1:
            issue["fingerprint"] = hashlib.sha256(f"{own}\0{seen[own]}".encode()).hexdigest()[:16]
    return issues
