"""What to do after a trial, as one command."""

from __future__ import annotations

import shlex
from importlib.metadata import entry_points
from typing import TYPE_CHECKING

from exportlint.finding import Severity
from exportlint.output.causes import causes
from exportlint.output.report import NextStep, Report, Target
from exportlint.trial.run import LOWERINGS
from exportlint.trial.target import Target as Tried
from exportlint.trial.target import TargetKind

if TYPE_CHECKING:
    from exportlint.finding import Finding


def next_step(report: Report) -> NextStep | None:
    """The one thing that brings the most: mend the first failure, or go nearer to the device."""
    failing = [(target, group[0]) for target in report.targets for group in causes(report.findings, target)]
    # What did not load is said to be so, with what to do.
    loud = [(t, finding) for t, finding in failing if finding.severity is not Severity.NOTE and finding.stage != "load"]
    if loud:
        return _after_failure(*min(loud, key=lambda pair: pair[1].severity.rank))
    exported = [target for target in report.targets if target.arguments and _exports(target)]
    if report.problems or not exported:
        return None
    if plain := [target for target in exported if not _lowered(target)]:
        names = ",".join(sorted(point.name for point in entry_points(group=LOWERINGS)))
        return _trial("Exported. Next, compile it for where it is to run", f"--lower {names}", plain)
    if frozen := [target for target in exported if not target.dynamic_shapes]:
        return _trial("Next, see which sizes need not be the sample's", "--dynamic auto", frozen)
    return None


def _trial(why: str, option: str, targets: list[Target]) -> NextStep:
    every = list(dict.fromkeys(target.arguments for target in targets))
    given = every[0] if any(SCRIPTS in one for one in every) else " ".join(every)
    return NextStep(why, f"exportlint trial {option} {given}")


def _after_failure(target: Target, finding: Finding) -> NextStep:
    place = f"{finding.path}:{finding.line}"
    if finding.rule == f"trial-{finding.stage}":
        if repro := next(
            (path for stage in target.stages if stage.name == finding.stage for path in stage.repros), None
        ):
            return NextStep(f"Next, {place}: no rule knows this failure; this script shows it", f"python {repro}")
        why = f"Next, {place}: no rule knows this failure; take it out into a script of its own"
        return NextStep(why, f"exportlint trial --save-repro repro {target.arguments or target.name}")
    return NextStep(f"Next, {place}: see what to write instead", f"exportlint explain {finding.rule}")


def _lowered(target: Target) -> bool:
    return any(stage.name.startswith("lower-") for stage in target.stages)


def _exports(target: Target) -> bool:
    return any(stage.name.startswith("export-") and stage.status == "passed" for stage in target.stages)


SCRIPTS = " -- "  # what follows is a script's own
_PARTS = ("args", "kwargs", "dynamic_shapes", "other_args")


def arguments(target: Tried | None) -> str:
    """What `exportlint trial` is given to try the target again, quoted for a shell; "" when it cannot be said."""
    if target is None:
        return ""
    if target.kind is not TargetKind.CALLABLES:
        # A script's own arguments come last: everything behind `--` is theirs.
        return shlex.join([target.source, *(("--", *target.arguments) if target.arguments else ())])
    given = {"model": target.source} | {part: getattr(target, part) for part in _PARTS}
    return " ".join(f"--{part.replace('_', '-')} {shlex.quote(text)}" for part, text in given.items() if text)
