"""The format `sarif`, version 2.1.0 of the Static Analysis Results Interchange Format, which code scanning pages read.

Each target of a trial is a run of its own, and so is what was read in the sources: a run has an `automationDetails.id`,
by which GitHub keeps its alerts apart from those of others. A finding has the places that it leads back to as related
locations, the way of its value as a code flow, and its rewrites as `fixes`.

Its object model is written here by hand: sarif-om has not changed since 2019, and sarif-pydantic knows neither fixes
nor code flows. The standard is https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html, and a test holds each
report against its schema.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from exportlint.finding import Evidence, Finding, Fix, Problem, Severity, TrailStep
from exportlint.output.checkout import from_checkout
from exportlint.output.verdict import is_about_coverage, verdict
from exportlint.trial.protocol.stages import LADDER
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.finding import Edit
    from exportlint.output.report import RenderOptions, Report
    from exportlint.trial.protocol.result import TargetReport

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_TOOL = "exportlint"


def render(report: Report, options: RenderOptions) -> str:
    del options  # the same on a terminal and in a file
    names = {target.name for target in report.targets}
    shown = [one for one in report.shown if not is_about_coverage(one)]
    read = [one for one in shown if one.target not in names]
    runs = [_run(report, "check", "what is read in the sources", read, report.problems)]
    for target in report.targets:
        own = [one for one in shown if one.target == target.name]
        run = _run(report, target.name, verdict(target, report.findings) or "nothing was tried", own)
        runs.append({**run, "properties": _of_target(target)})
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": runs}, indent=2) + "\n"


def _run(
    report: Report, name: str, description: str, findings: Sequence[Finding], problems: Sequence[Problem] = ()
) -> dict[str, Any]:
    rules = list(dict.fromkeys(finding.rule for finding in findings))
    return {
        "tool": {
            "driver": {
                "name": _TOOL,
                "semanticVersion": __version__,
                "rules": [_rule(rule, report) for rule in rules],
                "properties": {"torch": report.torch, "mode": report.mode},
            }
        },
        # GitHub takes what stands before the last slash for the category.
        "automationDetails": {"id": f"{_TOOL}/{quote(name)}/", "description": {"text": description}},
        "invocations": [
            {
                "executionSuccessful": not problems,
                "toolExecutionNotifications": [_notification(problem) for problem in problems],
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, rules.index(finding.rule), report) for finding in findings],
    }


def _rule(rule: str, report: Report) -> dict[str, Any]:
    """Its first sentence, its first part behind that, and its whole page; of what a trial alone knows, the stage."""
    if page := report.page(rule):
        first, then, *_ = (" ".join(part.split()) for part in page.partition("\n\n")[2].split("\n\n"))
    else:
        stage = next((stage for stage in LADDER if stage.rule == rule), None)
        first = f"A stage of a trial: {stage.summary}" if stage else "What exportlint tells beside its rules."
        page = then = first
    return {
        "id": rule,
        "name": rule,
        "shortDescription": {"text": first},
        "fullDescription": {"text": then},
        "help": {"text": page, "markdown": page},
    }


def _result(finding: Finding, rule_index: int, report: Report) -> dict[str, Any]:
    instead = f"\nInstead: {finding.fix.description}" if finding.fix else ""
    related = [_related(nth, step) for nth, step in enumerate((*finding.trail, *finding.calls))]
    result = {
        "ruleId": finding.rule,
        "ruleIndex": rule_index,
        **_how_loud(finding, report),
        "message": {"text": finding.message + instead},
        "locations": [{"physicalLocation": _place(finding, report)}],
        "relatedLocations": related,
        "partialFingerprints": {f"{_TOOL}/v1": finding.fingerprint},
        "fixes": [_fix(fix) for fix in _rewrites(finding)],
        "codeFlows": [_flow(finding, report)] if finding.trail else [],
        "properties": {
            "evidence": finding.evidence.value,
            "effect": dict(finding.effect),
            "stage": finding.stage,
            "lowerings": dict(finding.lowerings),
            "links": [link.url for link in finding.links],
        },
    }
    if "suppressed" in report.label(finding):
        silenced_elsewhere = any(one is finding for one in report.left_out)
        result["suppressions"] = [{"kind": "external" if silenced_elsewhere else "inSource"}]
    return {key: value for key, value in result.items() if value != []}


def _how_loud(finding: Finding, report: Report) -> dict[str, str]:
    """What was refuted passes, and of what no target ran nobody knows; neither is a failure, so neither has a level."""
    if finding.evidence is Evidence.CLEARED:
        return {"kind": "pass", "level": "none"}
    if "never ran" in report.label(finding):
        return {"kind": "open", "level": "none"}
    return {"kind": "fail", "level": finding.severity.value}


def _place(finding: Finding, report: Report) -> dict[str, Any]:
    line = report.source(finding.path, finding.line)
    region = _region((finding.line, finding.column), (finding.end_line, finding.end_column))
    context = {"contextRegion": {"startLine": finding.line, "snippet": {"text": line}}} if line else {}
    return {"artifactLocation": _artifact(finding.path), "region": region, **context}


def _region(start: tuple[int, int], end: tuple[int, int]) -> dict[str, int]:
    return {"startLine": start[0], "startColumn": start[1], "endLine": end[0], "endColumn": end[1]}


def _artifact(path: str) -> dict[str, str]:
    return {"uri": quote(from_checkout(path)), "uriBaseId": "%SRCROOT%"}


def _related(nth: int, step: TrailStep) -> dict[str, Any]:
    return {"id": nth, **_location(step.path, step.line, step.text)}


def _location(path: str, line: int, text: str) -> dict[str, Any]:
    place = {"artifactLocation": _artifact(path), "region": {"startLine": line}}
    return {"physicalLocation": place, "message": {"text": text}}


def _flow(finding: Finding, report: Report) -> dict[str, Any]:
    """From where the value comes from to where it does harm, which is the order of reading."""
    steps = [_location(step.path, step.line, step.text) for step in reversed(finding.trail)]
    last = {"physicalLocation": _place(finding, report), "message": {"text": finding.message}}
    return {"threadFlows": [{"locations": [{"location": one} for one in (*steps, last)]}]}


def _rewrites(finding: Finding) -> Sequence[Fix]:
    return finding.rewrites or ((finding.fix,) if finding.fix and finding.fix.edits else ())


def _fix(fix: Fix) -> dict[str, Any]:
    by_path: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        by_path.setdefault(edit.path, []).append(edit)
    changes = [
        {
            "artifactLocation": _artifact(path),
            "replacements": [
                {"deletedRegion": _region(edit.start, edit.end), "insertedContent": {"text": edit.text}}
                for edit in edits
            ],
        }
        for path, edits in by_path.items()
    ]
    return {
        "description": {"text": fix.description},
        "artifactChanges": changes,
        "properties": {"applicability": fix.applicability.value, "tried": fix.tried},
    }


def _notification(problem: Problem) -> dict[str, Any]:
    place = {"artifactLocation": _artifact(problem.path), "region": {"startLine": problem.line or 1}}
    return {
        "level": Severity.ERROR.value,
        "message": {"text": problem.message},
        "locations": [{"physicalLocation": place}],
    }


def _of_target(target: TargetReport) -> dict[str, Any]:
    stages = [{"name": one.name, "status": one.status, "detail": one.full_detail} for one in target.stages]
    return {"target": target.name, "stages": stages, "dynamicShapes": target.dynamic_shapes}
