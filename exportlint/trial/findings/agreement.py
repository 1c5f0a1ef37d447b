"""Put together what the modes of one trial did: the effect of a finding, and its severity."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.finding import Severity
from exportlint.trial.protocol.outcomes import MODES, Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.trial.findings.trial_finding import TrialFinding
    from exportlint.trial.protocol.result import TargetReport


def judged(found: TrialFinding, report: TargetReport, modes: Sequence[str]) -> TrialFinding:
    """Add the effect in the other mode, where that was measured too, and let the severity follow the chosen modes."""
    if not found.effect:
        return found
    exports = Outcome.EXPORTS.value
    known = {mode: exports for mode in MODES if report.agrees(mode)} | dict(found.effect)
    effect = {mode: known[mode] for mode in MODES if mode in known}
    severity = found.severity
    # A line that the other mode alone refuses does no harm in one that exports, whatever else the program gets wrong.
    passed = report.exported if found.family == "refused" else frozenset[str]()
    if all(effect.get(mode, exports if mode in passed else None) == exports for mode in modes):
        severity = Severity.NOTE  # measured, but in the mode that nobody chose
    return replace(found, effect=effect, severity=severity)
