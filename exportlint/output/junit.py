"""The format `junit`, which most CI services show as tests: a target is a suite, and a stage of it a case.

What is read in the sources is a suite a file, with a case for each finding; without any, one case that passes says so.
Notes fail nothing. There is no standard of it: the elements are those that Jenkins and GitLab read, as the library
junitparser writes them.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from exportlint.finding import Severity
from exportlint.output.checkout import from_checkout
from exportlint.output.verdict import verdict
from exportlint.trial.protocol.outcomes import FAILED, SKIPPED, TIMED_OUT
from exportlint.trial.protocol.stages import StageKind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from exportlint.finding import Finding, Problem
    from exportlint.output.report import RenderOptions, Report
    from exportlint.trial.protocol.result import StageResult, TargetReport

_TOOL = "exportlint"


def render(report: Report, options: RenderOptions) -> str:
    del options  # the same on a terminal and in a file
    xml = JUnitXml(_TOOL)
    for suite in _suites(report):
        xml.add_testsuite(suite)
    xml.update_statistics()  # type: ignore[no-untyped-call] # junitparser leaves some of its methods untyped
    text: str = xml.tostring().decode()  # type: ignore[no-untyped-call] # as above
    return text if text.endswith("\n") else f"{text}\n"


def _suites(report: Report) -> Iterator[TestSuite]:
    names = {target.name for target in report.targets}
    yield from (_of_target(target, report) for target in report.targets)
    for path, problems in groupby(sorted(report.problems, key=lambda one: one.path), key=lambda one: one.path):
        yield _suite(path, map(_of_problem, problems))
    rest = sorted((one for one in report.findings if one.target not in names), key=lambda one: one.sort_key)
    for path, findings in groupby(rest, key=lambda one: from_checkout(one.path)):
        yield _suite(path, map(_of_finding, findings))
    if not (report.targets or report.problems or rest):
        yield _suite(_TOOL, [_case(report.headline, _TOOL)])


def _suite(name: str, cases: Iterable[TestCase]) -> TestSuite:
    suite = TestSuite(_printable(name))
    for case in cases:
        suite.add_testcase(case)
    return suite


def _of_target(target: TargetReport, report: Report) -> TestSuite:
    own = [one for one in report.findings if one.target == target.name]
    stages = {stage.name for stage in target.stages}
    by_stage = {name: [one for one in own if one.stage == name] for name in stages}
    cases = [_of_stage(stage, report, target.name, by_stage[stage.name]) for stage in target.stages]
    suite = _suite(target.name, [*cases, *(_of_finding(one) for one in own if one.stage not in stages)])
    for name, value in (("verdict", verdict(target, report.findings)), ("dynamic_shapes", target.dynamic_shapes)):
        if value:
            suite.add_property(name, _printable(value))
    return suite


def _of_stage(stage: StageResult, report: Report, target: str, findings: Sequence[Finding]) -> TestCase:
    """What it found is the text of its failure; a stage that passed may have found what is wrong all the same."""
    case = _case(stage.name, target, stage.seconds)
    told = "\n\n".join(map(_told, findings))
    loud = next((one for one in findings if one.severity is not Severity.NOTE), None)
    if stage.status == SKIPPED:
        case.result = [Skipped(_printable(stage.full_detail))]
    elif stage.status in FAILED and not loud and not _counts(stage, report):
        case.system_out = _printable("\n\n".join([f"{stage.status}: {stage.full_detail}", told]).strip())
    elif stage.status in FAILED:
        # In JUnit's words a failure is what a test found, an error that it could not find it out.
        kind = Error if stage.status == TIMED_OUT else Failure
        case.result = [_result(kind, stage.full_detail or stage.status, stage.status, told)]
    elif loud:
        case.result = [_result(Failure, loud.message, loud.rule, told)]
    elif told:
        case.system_out = _printable(told)
    return case


_AFTER_REFUSALS = (StageKind.DRAFT, StageKind.REFUSALS, StageKind.SEARCH, StageKind.REMEDIES)


def _counts(stage: StageResult, report: Report) -> bool:
    """Not what asks more of a refusal that another case tells already, nor the mode that nobody chose."""
    row = stage.row
    return row.kind not in _AFTER_REFUSALS and (row.mode is None or report.mode in (row.mode, "both"))


def _of_finding(finding: Finding) -> TestCase:
    case = _case(f"{finding.rule} at {_place(finding)}", from_checkout(finding.path))
    if finding.severity is Severity.NOTE:
        case.system_out = _printable(_told(finding))
    else:
        case.result = [_result(Failure, finding.message, finding.rule, _told(finding))]
    return case


def _of_problem(problem: Problem) -> TestCase:
    case = _case("can be checked", problem.path)
    case.result = [_result(Error, problem.message, "not checked", "")]
    return case


def _case(name: str, of: str, seconds: float | None = None) -> TestCase:
    return TestCase(_printable(name), _printable(of), seconds)


def _result(kind: type[Failure | Error], message: str, what: str, text: str) -> Failure | Error:
    made = kind(_printable(message), what)
    if text:
        made.text = _printable(text)
    return made


def _told(finding: Finding) -> str:
    instead = f"\ninstead: {finding.fix.description}" if finding.fix else ""
    return f"{_place(finding)}: {finding.severity.value}[{finding.rule}] {finding.message}{instead}"


def _place(finding: Finding) -> str:
    return f"{from_checkout(finding.path)}:{finding.line}:{finding.column}"


def _printable(text: str) -> str:
    """XML has no place for control characters (https://www.w3.org/TR/xml/#charsets), and words of torch or of a model
    may hold some."""
    return _NO_XML.sub("\N{REPLACEMENT CHARACTER}", text)


_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
