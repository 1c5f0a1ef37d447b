"""Rewrite what a trial shows to be wrong, and try each rewrite before it is offered."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.files import Collected, SourceError, decode
from exportlint.finding import Applicability, Evidence
from exportlint.repair.edition import Edition
from exportlint.repair.proposals import compatible
from exportlint.repair.rounds import repair
from exportlint.static.unforeseen_rewrites import with_rewrites
from exportlint.trial.protocol.stages import SAME_BEHAVIOUR
from exportlint.workflow.report_building import build_report
from exportlint.workflow.trials import examine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.config.settings import Config
    from exportlint.finding import Finding, Fix
    from exportlint.output.report import Report
    from exportlint.repair.rounds import Repaired
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.target import Target


def mend(targets: Sequence[Target], config: Config, options: TrialOptions, budget: float) -> Repaired[Report]:
    """Rewrite what the targets run, round after round, until they export or nothing more helps; nothing is written.

    budget   seconds, after which no further round begins

    Raises UserError where no trial can run.
    """
    with tempfile.TemporaryDirectory(prefix="exportlint-") as folder:
        options = replace(options, behaviour=Path(folder), keep=True)

        def attempt(edited: Mapping[str, str], *, quick: bool) -> Report:
            how = replace(options, edited=edited, quick=quick, lower=() if quick else options.lower)
            examined = examine(targets, Collected((), ()), config, how, cache=not edited)
            report = build_report(examined.gathered, examined.config)
            return replace(report, findings=tuple(_seen(one, edited) for one in report.findings))

        done = repair(attempt, config.modes, budget)
        done.edition = done.edition.with_caveats(_caveats(done.before))
        return done


def _seen(finding: Finding, edited: Mapping[str, str]) -> Finding:
    """With the rewrites of what no rule foresaw."""
    if finding.evidence is not Evidence.DISCOVERED:
        return finding
    path = Path(finding.path).resolve()
    try:
        return with_rewrites(finding, path, edited.get(str(path)) or decode(path.read_bytes()))
    except (OSError, SourceError):
        return finding


def _caveats(before: Report) -> dict[tuple[str, int], str]:
    """The `if`s of which no input took one side: what stands there was compared on the other side alone."""
    stages = (target.stage(SAME_BEHAVIOUR.name) for target in before.targets)
    sides = (side for stage in stages if stage is not None for side in stage.data.get("one_sided", ()))
    return {
        (str(Path(path).resolve()), line): f"no input that was tried makes its test {'false' if value else 'true'}"
        for path, line, value in sides
    }


def rewritten(findings: Sequence[Finding], *, unsafe: bool) -> tuple[Edition, list[Finding]]:
    """The files of the findings after every rewrite that is right by construction, and the findings that are left;
    `unsafe`: after every first rewrite, though nothing was tried."""
    ways = [
        (one, fix) for one in findings for fix in [fix for fix in one.rewrites if _is_offered(fix, unsafe=unsafe)][:1]
    ]
    proposal = compatible(ways)
    taken = {id(finding) for finding, _ in proposal.parts}
    return proposal.applied(Edition()), [one for one in findings if id(one) not in taken]


def _is_offered(fix: Fix, *, unsafe: bool) -> bool:
    return not fix.needs_both_sides and (unsafe or fix.applicability is Applicability.SAFE)
