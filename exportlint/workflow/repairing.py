"""Rewrite what a trial shows to be wrong, and try each rewrite before it is offered."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.edited_source import OverlappingEditsError, edited
from exportlint.files import Collected, SourceError, decode
from exportlint.finding import Applicability
from exportlint.repair.edition import Edition
from exportlint.repair.proposals import Proposal
from exportlint.repair.rounds import repair
from exportlint.static.unforeseen_rewrites import with_rewrites
from exportlint.trial.protocol.stages import SAME_BEHAVIOUR
from exportlint.workflow.report_building import build_report
from exportlint.workflow.trials import examine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.config.settings import Config
    from exportlint.finding import Edit, Finding, Fix
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
    taken: list[tuple[Finding, Fix]] = []
    left: list[Finding] = []
    edits: defaultdict[str, list[Edit]] = defaultdict(list)
    for finding in findings:
        ways = [fix for fix in finding.rewrites if unsafe or fix.applicability is Applicability.SAFE]
        if ways and _has_room(ways[0], edits):
            taken.append((finding, ways[0]))
            for edit in ways[0].edits:
                edits[edit.path].append(edit)
        else:
            left.append(finding)
    return Proposal(tuple(taken)).applied(Edition()), left


def _has_room(fix: Fix, edits: Mapping[str, list[Edit]]) -> bool:
    """Does it overlap with none of the edits?"""
    try:
        for path in {edit.path for edit in fix.edits}:
            text = decode(Path(path).read_bytes())
            edited(text, [*edits.get(path, ()), *(edit for edit in fix.edits if edit.path == path)])
    except OverlappingEditsError:
        return False
    return True
