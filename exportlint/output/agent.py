"""The format `agent`: what is known of each failure, in Markdown, for a program or a person that will mend it.

A section a cause, of errors and warnings; notes and what does not count have a line each. No colour, no boxes, and the
same in a terminal, in a pipe and in a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.finding import Severity
from exportlint.output.agent_cause import cause_lines
from exportlint.output.verdict import Cause, breaks_in_words, never_ran_in_words, parts, verdict
from exportlint.trial.protocol.outcomes import MODES, SKIPPED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.finding import Finding
    from exportlint.output.report import RenderOptions, Report
    from exportlint.trial.protocol.result import TargetReport


_MARKS = "In the sources `>` marks the places, and `# [name: …]` is what reading the code shows of a name."


def render(report: Report, options: RenderOptions) -> str:
    return "\n".join(_lines(report, options)) + "\n"


def _lines(report: Report, options: RenderOptions) -> Iterator[str]:
    loud = loud_causes(report)
    if not report.shown:
        yield f"{report.headline}; {not_looked_at(report)}."
        return
    yield "# What is known of the failures"
    yield from targets_lines(report)
    yield from sections(loud, report)
    yield from beside_lines(report)
    yield ""
    yield f"{report.headline}; {_counted(len(loud))}; {not_looked_at(report)}."
    if options.statistics:
        yield from (f"{number:>6}  {rule}" for rule, number in report.per_rule())


def loud_causes(report: Report) -> list[Cause]:
    """The causes with an error or a warning that counts, the most decisive one first."""
    own = [Cause(tuple(f for f in cause.findings if _is_loud(f, report))) for p in parts(report) for cause in p.causes]
    return [cause for cause in own if cause.findings]


def _is_loud(finding: Finding, report: Report) -> bool:
    return finding.severity is not Severity.NOTE and not report.label(finding)


def targets_lines(report: Report) -> Iterator[str]:
    """What each target comes to, in a sentence."""
    if report.targets:
        yield ""
    for target in report.targets:
        said = verdict(target, report.findings)
        yield f"- target {target.name}{report.other_torch(target)}{f': {said}' if said else ''}"


def sections(causes: Iterable[Cause], report: Report) -> Iterator[str]:
    """One for each cause, after what their marks mean."""
    causes = list(causes)
    if causes:
        yield from ("", _MARKS)
    for number, cause in enumerate(causes, 1):
        yield ""
        yield from cause_lines(cause, report, number)


def beside_lines(report: Report) -> Iterator[str]:
    """Notes, what was cleared or suppressed where that was asked for, breaks of the graph and lines that never ran."""
    told = [_listed(finding, report) for finding in _quiet(report)]
    for part in parts(report):
        told += [f"- {breaks_in_words(part)}"] if part.breaks else []
        told += [f"- {never_ran_in_words(len(part.never_ran))}"] if part.never_ran else []
    if told:
        yield from ("", "## Beside them", "", *told)


def _quiet(report: Report) -> Iterator[Finding]:
    for part in parts(report):
        for cause in part.causes:
            yield from (finding for finding in cause.findings if not _is_loud(finding, report))


def _listed(finding: Finding, report: Report) -> str:
    place = f"{finding.path}:{finding.line}:{finding.column}"
    return (
        f"- {place} {finding.severity.value}[{finding.rule}]{report.label(finding)} {' '.join(finding.message.split())}"
    )


def _counted(number: int) -> str:
    return f"{number} cause{'' if number == 1 else 's'} above"


def not_looked_at(report: Report) -> str:
    """What this run cannot know, in one clause."""
    if not report.targets:
        return "read in the source alone: no model was run, and nothing was exported"
    modes = [mode for mode in MODES if not any(_tried(one, mode) for one in report.targets)]
    stages = dict.fromkeys(
        stage.name for one in report.targets for stage in one.stages if stage.status == SKIPPED and not stage.support
    )
    told = [f"skipped {', '.join(stages)}"] if stages else []
    told += [f"not tried in {' and '.join(modes)} mode"] if modes else []
    told += [] if _lowered(report) else ["no target of deployment"]
    return f"not looked at: {'; '.join(told)}" if told else "no stage was skipped"


def _tried(target: TargetReport, mode: str) -> bool:
    return any(stage.row.mode == mode and stage.status != SKIPPED for stage in target.stages)


def _lowered(report: Report) -> bool:
    return any(stage.row.lowering and stage.status != SKIPPED for one in report.targets for stage in one.stages)
