"""GITHUB"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from itertools import filterfalse
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.edited_source import edited
from exportlint.finding import Applicability, Finding, Fix, Problem, Severity
from exportlint.output import markdown
from exportlint.output.checkout import from_checkout
from exportlint.output.verdict import is_about_coverage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.finding import Edit
    from exportlint.output.report import RenderOptions, Report


MOST = 10
LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}


def render(report: Report, options: RenderOptions) -> str:
    del options  # a log has no width and no colour
    if path := os.environ.get("GITHUB_STEP_SUMMARY"):
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(markdown.job_summary(report))
    return "\n".join([*_commands(report), _data(report.headline)]) + "\n"


def _commands(report: Report) -> Iterator[str]:
    counted = sorted(filterfalse(is_about_coverage, report.findings), key=lambda finding: finding.sort_key)
    for severity, level in LEVELS.items():
        problems = [_problem(problem) for problem in report.problems] if severity is Severity.ERROR else []
        findings = (_finding(finding, level, report.source) for finding in counted if finding.severity is severity)
        commands = [*problems, *findings]
        yield from commands[:MOST]
        if more := len(commands[MOST:]):
            yield f"{more} more at level {severity.value}: GitHub shows {MOST} of a level; the job summary has them all"


def _problem(problem: Problem) -> str:
    place = {"file": from_checkout(problem.path), "line": str(problem.line or 1), "title": "exportlint"}
    return _command("error", place, f"{problem.path}: {problem.message}")


def _finding(finding: Finding, level: str, source: Source) -> str:
    properties = {
        "file": from_checkout(finding.path),
        "line": str(finding.line),
        "endLine": str(finding.end_line),
        "title": f"exportlint {finding.rule}",
    }
    if finding.line == finding.end_line:  # columns of a range over several lines make GitHub drop the annotation
        properties |= {"col": str(finding.column), "endColumn": str(finding.end_column)}
    instead = f"\nInstead: {finding.fix.description}" if finding.fix else ""
    return _command(level, properties, finding.message + instead + _suggestion(finding.fix, source))


def _suggestion(fix: Fix | None, source: Source) -> str:
    lines = _suggested_lines(fix, source) if fix else []
    tried = "" if fix is None or fix.applicability is Applicability.SAFE else ", which `exportlint fix` tries"
    return "\n".join([f"\nSuggested change{tried}:", *lines]) if lines else ""


def _command(level: str, properties: dict[str, str], message: str) -> str:
    return f"::{level} {','.join(f'{key}={_property(value)}' for key, value in properties.items())}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


# The lines that a fix changes, as they are and as they would be: an annotation has room for a few lines.


Source = Callable[[str, int], "str | None"]


def _suggested_lines(fix: Fix, source: Source) -> list[str]:
    """Each changed stretch of lines, `-` before the old and `+` before the new ones.

    source   gives a line of a file, None where there is none
    """
    shown: list[str] = []
    for edits in _stretches(fix):
        first, last = edits[0].start[0], max(edit.end[0] for edit in edits)
        old = [source(edits[0].path, number) or "" for number in range(first, last + 1)]
        moved = [
            replace(
                edit,
                start=(edit.start[0] - first + 1, edit.start[1]),
                end=(edit.end[0] - first + 1, edit.end[1]),
            )
            for edit in edits
        ]
        new = edited("\n".join(old), moved).split("\n")
        while old and new and old[-1] == new[-1]:
            old, new = old[:-1], new[:-1]
        while old and new and old[0] == new[0]:
            old, new = old[1:], new[1:]
        shown += [*(f"- {line}" for line in old), *(f"+ {line}" for line in new)]
    return shown


def _stretches(fix: Fix) -> list[list[Edit]]:
    """Edits that share a line stand together."""
    found: list[list[Edit]] = []
    for edit in sorted(fix.edits, key=lambda one: (one.path, one.start, one.end)):
        last = found[-1][-1] if found else None
        if last and last.path == edit.path and edit.start[0] <= max(one.end[0] for one in found[-1]):
            found[-1].append(edit)
        else:
            found.append([edit])
    return found
