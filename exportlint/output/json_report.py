"""The format `json`, the contract that other programs build on; schema-1.json beside this file describes it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from exportlint.finding import Finding, Fix, Severity, TrailStep
from exportlint.trial.protocol.frames import from_here
from exportlint.trial.protocol.operator_support import OperatorSupport
from exportlint.version import __version__

if TYPE_CHECKING:
    from exportlint.output.report import RenderOptions, Report
    from exportlint.trial.protocol.result import StageResult, TargetReport


VERSION = 1


def render(report: Report, options: RenderOptions) -> str:
    del options  # the same on a terminal, in a pipe and in a file
    return json.dumps(as_data(report), indent=2) + "\n"


def as_data(report: Report) -> dict[str, Any]:
    """The report as plain data, in the order of the schema."""
    shown = report.shown
    return {
        "version": VERSION,
        "exportlint": __version__,
        "torch": report.torch,
        "mode": report.mode,
        "findings": [_finding(finding, report) for finding in shown],
        "targets": [_target(target, shown) for target in report.targets],
        "summary": {
            "files": report.files,
            **{f"{severity.value}s": report.count(severity) for severity in Severity},
            "suppressed": len(report.suppressed),
            "cleared": len(report.cleared),
            # Only where somebody asked, as for a baseline.
            **({"baselined": len(report.baselined)} if report.baselined is not None else {}),
            **({"unchanged": len(report.unchanged)} if report.unchanged is not None else {}),
        },
    }


def _finding(finding: Finding, report: Report) -> dict[str, Any]:
    data = {
        "rule": finding.rule,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "severity": finding.severity.value,
        "message": finding.message,
        "evidence": finding.evidence.value,
        "effect": dict(finding.effect),
        "target": finding.target,
        "stage": finding.stage,
        "links": [{"kind": link.kind, "id": link.id, "url": link.url} for link in finding.links],
        "fix": _fix(finding.fix) if finding.fix else None,
        "fingerprint": finding.fingerprint,
    }
    if finding.trail:
        data["trail"] = [_step(step) for step in finding.trail]
    if finding.calls:
        data["calls"] = [_step(step) for step in finding.calls]
    if finding.lowerings:
        data["lowerings"] = dict(finding.lowerings)
    # Only with --show-suppressed, where a reader could not distinguish such a finding from one that counts.
    return {**data, "suppressed": True} if "suppressed" in report.label(finding) else data


def _step(step: TrailStep) -> dict[str, Any]:
    return {"text": step.text, "path": step.path, "line": step.line}


def _fix(fix: Fix) -> dict[str, Any]:
    edits = [{"path": e.path, "start": list(e.start), "end": list(e.end), "text": e.text} for e in fix.edits]
    return {
        "description": fix.description,
        "applicability": fix.applicability.value,
        "edits": edits,
        "tried": fix.tried,
    }


def _target(target: TargetReport, shown: tuple[Finding, ...]) -> dict[str, Any]:
    stages = [_stage(stage, target, shown) for stage in target.stages]
    guards = [
        {"text": guard.text, "path": from_here(guard.path) if guard.path else None, "line": guard.line}
        for guard in target.guards
    ]
    return {
        "name": target.name,
        "stages": stages,
        "dynamic_shapes": target.dynamic_shapes,
        "guards": guards,
        **target.compilation.to_dict(),
    }


def _stage(stage: StageResult, target: TargetReport, shown: tuple[Finding, ...]) -> dict[str, Any]:
    data = {
        "name": stage.name,
        "status": stage.status,
        "seconds": round(stage.seconds, 3),
        "detail": stage.full_detail,
        "findings": [i for i, f in enumerate(shown) if (f.target, f.stage) == (target.name, stage.name)],
    }
    if stage.row.lowering and (support := OperatorSupport.from_dict(stage.data.get("operators", {}))).rows:
        data["operators"] = _operators_as_data(support)
    if stage.row.lowering and "recalled" in stage.data:
        data["recalled"] = True
    if stage.artifact:
        data["artifact"] = stage.artifact
    return data


def _operators_as_data(support: OperatorSupport) -> dict[str, Any]:
    """As JSON has it: paths are relative to the working directory."""
    rows = [
        {
            "name": row.name,
            "count": row.count,
            "support": row.support,
            "path": from_here(row.path) if row.path else None,
            "line": row.line,
            "reason": row.reason,
        }
        for row in support.in_order
    ]
    return {"total": support.total, "rows": rows}
