"""The format `concise`, for editors and grep: one line a finding, `path:line:column: severity[rule] message`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.finding import Finding
    from exportlint.output.report import RenderOptions, Report
    from exportlint.trial.protocol.result import TargetReport


def render(report: Report, options: RenderOptions) -> str:
    return "\n".join(_lines(report, options)) + "\n"


def _lines(report: Report, options: RenderOptions) -> Iterator[str]:
    yield from (_line(finding, report) for finding in report.shown)
    yield from (_ladder(target) for target in report.targets)
    yield report.headline
    if options.statistics:
        yield from (f"{number:>6}  {rule}" for rule, number in report.per_rule())


def _line(finding: Finding, report: Report) -> str:
    place = f"{finding.path}:{finding.line}:{finding.column}"
    message = " ".join(finding.message.split())
    return f"{place}: {finding.severity.value}[{finding.rule}]{report.label(finding)} {message}"


def _ladder(target: TargetReport) -> str:
    return f"target {target.name}: " + ", ".join(f"{stage.name} {stage.status}" for stage in target.stages)
