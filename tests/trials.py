"""Real trials of the models below tests/, as most tests want them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.discovery import from_text
from exportlint.trial.findings.deduplicate import findings_of
from exportlint.trial.protocol.options import TrialOptions
from exportlint.trial.run import run_trials

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from exportlint.trial.findings.trial_finding import TrialFinding
    from exportlint.trial.protocol.result import TargetReport
    from exportlint.trial.protocol.target import Target

NON_STRICT = TrialOptions(modes=("non-strict",), timeout=120, keep=True)


def by_class(reports: Iterable[TargetReport]) -> dict[str, TargetReport]:
    """The reports by what stands behind the colon of a target's name."""
    return {report.name.rpartition(":")[2]: report for report in reports}


def tried(
    targets: Path | str | list[Target], options: TrialOptions = NON_STRICT, **kwargs: Any
) -> dict[str, TargetReport]:
    """Try every target of a file, or these."""
    chosen = targets if isinstance(targets, list) else from_text(str(targets))
    return by_class(run_trials(chosen, options, **kwargs))


def found_in(report: TargetReport, root: Path, stage: str | None = None) -> list[TrialFinding]:
    """What the trial found, or only what one stage found."""
    found = findings_of(report, root, ("non-strict",))
    return [one for one in found if stage in (None, one.stage.name)]
