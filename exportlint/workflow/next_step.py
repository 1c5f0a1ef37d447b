"""Choose what to do after a trial, as one command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.finding import Severity
from exportlint.output.causes import causes, names_only_its_stage
from exportlint.output.report import NextStep, Report
from exportlint.repro.script import can_repeat
from exportlint.trial.protocol.outcomes import SKIPPED
from exportlint.trial.protocol.stages import StageKind, stage_named

if TYPE_CHECKING:
    from exportlint.finding import Finding
    from exportlint.trial.protocol.result import TargetReport


def next_step(report: Report) -> NextStep | None:
    """The one thing that brings the most: mend the first failure, or go nearer to the device."""
    failing = [(target, group[0]) for target in report.targets for group in causes(report.findings, target)]
    # A target that did not load is reported as a problem, with what to do.
    loud = [
        (t, finding) for t, finding in failing if finding.severity is not Severity.NOTE and not _of_loading(finding)
    ]
    if loud:
        return _after_failure(*min(loud, key=lambda pair: pair[1].severity.rank))
    exported = [target for target in report.targets if target.command_line and _exports(target)]
    if report.problems or not exported:
        return None
    if plain := [target for target in exported if not _was_lowered(target)]:
        return _trial("Exported. Next, compile it for where it is to run", "--lower all", plain)
    if frozen := [target for target in exported if not target.dynamic_shapes]:
        return _trial("Next, see which sizes need not be the sample's", "--dynamic auto", frozen)
    return None


def _trial(why: str, option: str, targets: list[TargetReport]) -> NextStep:
    every = list(dict.fromkeys(target.command_line for target in targets))
    # Everything behind the `--` of a script is the script's own, so nothing can follow it.
    has_own_arguments = any(target.target and target.target.arguments for target in targets)
    given = every[0] if has_own_arguments else " ".join(every)
    return NextStep(why, f"exportlint trial {option} {given}")


def _after_failure(target: TargetReport, finding: Finding) -> NextStep | None:
    place = f"{finding.path}:{finding.line}"
    stage = target.stage(finding.stage) if finding.stage else None
    if not names_only_its_stage(finding):
        return NextStep(f"Next, {place}: see what to write instead", f"exportlint explain {finding.rule}")
    if stage and stage.status == SKIPPED and stage.row.lowering and target.command_line:
        return _trial("Next, see whether it compiles all the same", f"--lower {stage.row.lowering}", [target])
    if stage and stage.repros:
        return NextStep(f"Next, {place}: this script shows the failure alone", f"python {stage.repros[0]}")
    if stage is None or not can_repeat(target, stage.name):
        return None
    first = "try what stands above under instead; or " if finding.fix else ""
    why = f"Next, {place}: {first}take the failure out into a script of its own"
    lower = f"--lower {stage.row.lowering} " if stage.row.lowering else ""
    return NextStep(why, f"exportlint trial {lower}--save-repro repro {target.command_line or target.name}")


def _of_loading(finding: Finding) -> bool:
    return finding.stage is not None and stage_named(finding.stage).kind is StageKind.LOAD


def _was_lowered(target: TargetReport) -> bool:
    return any(stage.row.lowering for stage in target.stages)


def _exports(target: TargetReport) -> bool:
    return any(stage.row.kind is StageKind.EXPORT and stage.passed for stage in target.stages)
