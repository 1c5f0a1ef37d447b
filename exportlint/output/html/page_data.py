"""A report as the plain data that the page's script reads: findings in the order in which one mends them, the lines of
source that somebody may look at, and each target as far as the report holds it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from exportlint.output.agent_rewrites import known_rewrites
from exportlint.output.agent_source import clipped
from exportlint.output.html.program import program_data
from exportlint.output.verdict import BESIDE, Part, parts, shown_seconds, verdict
from exportlint.trial.protocol.frames import from_here
from exportlint.trial.protocol.operator_support import OperatorSupport
from exportlint.trial.protocol.outcomes import SKIPPED
from exportlint.trial.protocol.stages import LADDER, SCRIPT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.finding import Finding, Link
    from exportlint.output.report import Report
    from exportlint.trial.protocol.result import StageResult, TargetReport


_BEFORE, _AFTER = 5, 5  # lines of source around a finding
_AROUND_STEP = 1  # and around a step of a trail
_MOST_LINES = 40  # of a construct, or of a region that never ran
_WIDEST = 1000  # letters of a line: generated files have lines of megabytes


class ShownSource:
    """The lines of source that the page can show. Each is there once, however many findings stand around it."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._lines: dict[str, dict[int, str]] = defaultdict(dict)

    def want(self, path: str, first: int, last: int) -> None:
        """Lines that do not exist are not missed."""
        known = self._lines[path]
        for number in range(max(1, first), last + 1):
            if number not in known and (text := self._report.source(path, number)) is not None:
                known[number] = clipped(text.rstrip("\r\n"), _WIDEST)

    def plain(self) -> dict[str, dict[str, str]]:
        """Path -> number -> text, in the order of the files."""
        found = sorted((path, sorted(lines.items())) for path, lines in self._lines.items())
        return {path: {str(number): text for number, text in lines} for path, lines in found if lines}


def page_data(report: Report) -> dict[str, Any]:
    source = ShownSource(report)
    found = list(parts(report))
    ordered = [(finding, group) for part in found for finding, group in _grouped(part, report)]
    index = {id(finding): number for number, (finding, _) in enumerate(ordered)}
    ids = _unique(finding.fingerprint or "unnamed" for finding, _ in ordered)
    return {
        "findings": [
            {"id": name, "group": group, **_finding(finding, report, source)}
            for name, (finding, group) in zip(ids, ordered, strict=True)
        ],
        "stages": _columns(report.targets),
        "targets": [_target(part, report, source, index) for part in found if part.target],
        "sources": source.plain(),
    }


def _unique(names: Iterable[str]) -> Iterator[str]:
    """Two targets may show one finding, and an address has to name one of them."""
    seen: set[str] = set()
    for name in names:
        number, own = 1, name
        while own in seen:
            number += 1
            own = f"{name}-{number}"
        seen.add(own)
        yield own


def _grouped(part: Part, report: Report) -> Iterator[tuple[Finding, str]]:
    """The findings of a part with the heading that each stands under."""
    where = f"target {part.target.name}" if part.target else BESIDE if report.targets else ""
    between = ": " if where else ""
    for cause in part.causes:
        for finding in cause.findings:
            yield finding, f"{where}{between if cause.head else ''}{cause.head}"
    for finding in part.breaks:
        yield finding, f"{where}{between}where torch.compile would break the graph"
    for finding in part.never_ran:
        yield finding, f"{where}{between}lines that no sample ran"


def _finding(finding: Finding, report: Report, source: ShownSource) -> dict[str, Any]:
    last = min(finding.end_line, finding.line + _MOST_LINES)
    source.want(finding.path, finding.line - _BEFORE, last + _AFTER)
    for step in finding.trail:
        source.want(step.path, step.line - _AROUND_STEP, step.line + _AROUND_STEP)
    beliefs = report.background.beliefs(finding)
    for line in beliefs:
        source.want(finding.path, line, line)
    data: dict[str, Any] = {
        "rule": finding.rule,
        "path": finding.path,
        "span": [finding.line, finding.column, finding.end_line, finding.end_column],
        "shown": [max(1, finding.line - _BEFORE), last + _AFTER],
        "severity": finding.severity.value,
        "evidence": finding.evidence.value,
        "standing": report.label(finding).strip(" ()"),
        "message": finding.message,
    }
    more: dict[str, Any] = {
        "target": finding.target,
        "stage": finding.stage,
        "effect": dict(finding.effect),
        "lowerings": dict(finding.lowerings),
        "links": [_link(link) for link in finding.links],
        "trail": [asdict(step) for step in finding.trail],
        "calls": [asdict(step) for step in finding.calls],
        "beliefs": {str(line): list(words) for line, words in sorted(beliefs.items())},
        "rewrites": [asdict(one) for one in known_rewrites(finding, report)],
    }
    if finding.fix:
        fix = finding.fix
        more["fix"] = {"advice": fix.description, "tried": fix.tried, "applicability": fix.applicability.value}
    # What is not known of a finding is not in the page, which has thousands of them.
    return data | {name: value for name, value in more.items() if value}


def _link(link: Link) -> dict[str, str]:
    """A rule of somebody else may name any address; only pages are followed."""
    url = link.url if link.url.startswith(("https://", "http://")) else ""
    return {"kind": link.kind, "id": link.id, "url": url}


def _columns(targets: Iterable[TargetReport]) -> list[str]:
    """The stages that a target has come to, in the order of the ladder; lowerings follow."""
    there = dict.fromkeys(stage.name for target in targets for stage in target.stages)
    ladder = [stage.name for stage in (SCRIPT, *LADDER) if stage.name in there]
    return [*ladder, *(name for name in there if name not in ladder)]


def _target(part: Part, report: Report, source: ShownSource, index: dict[int, int]) -> dict[str, Any]:
    target = part.target
    assert target is not None  # noqa: S101 - parts without one are no target's
    own = [finding for finding in report.shown if finding.target == target.name]
    for guard in target.guards:
        if guard.path and guard.line:
            source.want(from_here(guard.path), guard.line, guard.line)
    for finding in part.never_ran:
        last = min(finding.end_line, finding.line + _MOST_LINES)
        source.want(finding.path, finding.line - _BEFORE, last)
    for broken in target.compilation.graph_breaks:
        if broken.path and broken.line:
            source.want(broken.path, broken.line, broken.line)
    return {
        "name": target.name,
        "torch": report.other_torch(target).strip(", "),
        "verdict": target.broken or verdict(target, report.findings),
        "stages": [_stage(stage, [index[id(f)] for f in own if f.stage == stage.name]) for stage in target.stages],
        "shapes": target.dynamic_shapes,
        "guards": [
            {"text": guard.text, "path": from_here(guard.path) if guard.path else None, "line": guard.line}
            for guard in target.guards
        ],
        "compilation": {**target.compilation.to_dict(), "order": [list(item) for item in target.compilation.order]},
        "program": program_data(target.graph, source.want) if target.graph else None,
        "never_ran": [
            {
                "path": finding.path,
                "line": finding.line,
                "end_line": finding.end_line,
                "last": min(finding.end_line, finding.line + _MOST_LINES),
                "message": finding.message,
            }
            for finding in part.never_ran
        ],
    }


def _stage(stage: StageResult, findings: list[int]) -> dict[str, Any]:
    data: dict[str, Any] = {"name": stage.name, "status": stage.status, "seconds": shown_seconds(stage)}
    support = OperatorSupport.from_dict(stage.data.get("operators", {})) if stage.row.lowering else None
    more: dict[str, Any] = {
        "detail": stage.full_detail,
        "support": stage.support if stage.support != stage.full_detail else "",
        "lowering": stage.row.lowering,
        "findings": findings,
        "repros": list(stage.repros),
        "artifact": stage.artifact,
        "recalled": bool(stage.row.lowering and stage.status != SKIPPED and "recalled" in stage.data),
        "swapped": [list(row) for row in stage.data.get("swapped") or ()],
        "operators": [
            [row.name, row.count, row.support, from_here(row.path) if row.path else "", row.line, row.reason]
            for row in (support.in_order if support else ())
        ],
    }
    return data | {name: value for name, value in more.items() if value}
