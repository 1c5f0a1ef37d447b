"""Put together what the modes of one trial did: the effect of a finding, and its severity."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.finding import Severity
from exportlint.trial.protocol.outcomes import DIFFERS, MODES, PASSED, Outcome
from exportlint.trial.protocol.stages import LADDER, StageKind

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from exportlint.trial.findings.trial_finding import TrialFinding
    from exportlint.trial.protocol.result import StageResult, TargetReport
    from exportlint.trial.protocol.stages import Stage


def judged(found: TrialFinding, report: TargetReport, modes: Sequence[str]) -> TrialFinding:
    """Add the effect in the other mode, where that was measured too, and let the severity follow the chosen modes."""
    if not found.effect:
        return found
    exports = Outcome.EXPORTS.value
    known = {mode: exports for mode in MODES if agrees(report, mode)} | dict(found.effect)
    effect = {mode: known[mode] for mode in MODES if mode in known}
    severity = found.severity
    if all(effect.get(mode) == exports for mode in modes):
        # Measured, but in the mode that nobody chose.
        severity = max(severity, Severity.WARNING, key=lambda one: one.rank)
    return replace(found, effect=effect, severity=severity)


def agrees(report: TargetReport, mode: str) -> bool:
    """Did the target export in this mode, and did soundness compare it with eager and find nothing?"""
    export = _result(report, lambda stage: stage.mode == mode)
    soundness = _result(report, lambda stage: stage.kind is StageKind.COMPARE)
    if export is None or not export.passed or soundness is None or soundness.status not in (PASSED, DIFFERS):
        return False
    # Sizes are tried in one mode only; where they differ, nothing is known of the other.
    sizes = _result(report, lambda stage: stage.kind is StageKind.SIZES)
    if sizes is not None and any(seen.kind == "difference" for seen in sizes.observations):
        return False
    return not any(
        (seen.kind == "difference" and seen.details.get("mode") == mode) or seen.details.get("note") == "eager-unstable"
        for seen in soundness.observations
    )


def _result(report: TargetReport, wanted: Callable[[Stage], bool]) -> StageResult | None:
    return next((report.stage(stage.name) for stage in LADDER if wanted(stage)), None)
