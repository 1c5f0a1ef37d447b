"""Try an edit that somebody else made beside what it edits, by the court that `exportlint fix` asks of its rewrites."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.files import Collected
from exportlint.repair.edition import Edition
from exportlint.repair.verification import Verified, judged
from exportlint.repair.wellformed import what_is_broken
from exportlint.trial.parent.session import kept_session
from exportlint.workflow.repairing import (
    compared_in_eager,
    each_model,
    models_of,
    seconds_for_edited,
    under_other_settings,
    with_same_targets,
)
from exportlint.workflow.report_building import build_report
from exportlint.workflow.trials import Candidate, examine

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.config.settings import Config
    from exportlint.output.report import Report
    from exportlint.repair.change import Change
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.result import StageResult
    from exportlint.trial.protocol.target import Target


def verify(targets: Sequence[Target], config: Config, options: TrialOptions, change: Change) -> Verified[Report]:
    """Run the targets before and after an edit, and compare them in eager; nothing is written.

    change   the texts of the edited files; the disk may hold either of them, or others

    Raises UserError where the edit changes no Python file, breaks one, or where no trial can run.
    """
    if not change.changed:
        others = f"; it changes {', '.join(change.others)}" if change.others else ""
        raise UserError(f"the edit changes no Python file, so there is nothing to verify{others}")
    if broken := what_is_broken(change.before, change.after):
        raise UserError(f"the edit breaks a file: {broken}")
    with tempfile.TemporaryDirectory(prefix="exportlint-") as folder:
        there, back = Path(folder) / "there", Path(folder) / "back"
        there.mkdir()
        back.mkdir()
        options = replace(options, behaviour=there, keep=True)
        unedited = replace(options, edited=change.before, as_unedited=change.before)
        before = _tried(targets, config, unedited, "before the edit")
        edited = replace(unedited, edited=change.after, timeout=seconds_for_edited(before, options))
        after = with_same_targets(_tried(targets, config, edited, "after the edit"), models_of(before))
        before = replace(before, targets=tuple(models_of(before)))
        found = _other_way(targets, unedited, replace(edited, behaviour=back))
        edition = Edition({path: text.encode() for path, text in change.before.items()}, change.after)
        return judged(change, before, after, found, under_other_settings(targets, unedited, edition))


def _tried(targets: Sequence[Target], config: Config, options: TrialOptions, what: str) -> Report:
    examined = examine(targets, Collected((), ()), config, options, candidate=Candidate(what=what))
    return build_report(examined.gathered, examined.config)


def _other_way(
    targets: Sequence[Target], unedited: TrialOptions, edited: TrialOptions
) -> list[tuple[StageResult | None, StageResult | None]]:
    """Of each target, what the edited model does on inputs that are sought for it, and the unedited one beside it.
    `unedited`, `edited`: what each was tried with; what they compute is kept in folders of their own."""
    found = []
    with kept_session(edited.python) as server:
        kept = replace(edited, as_unedited=edited.edited)
        now = {one.identity: one for one in each_model(server, targets, kept)}
        compared = replace(edited, edited=unedited.edited, as_unedited=edited.edited)
        for target in each_model(server, targets, unedited):
            file = str(edited.behaviour_of(target))
            own = None
            if target.identity in now:
                beside = str(unedited.behaviour_of(target))
                own = compared_in_eager(server, now[target.identity], kept, file=file, keep=True, selections=beside)
            other = compared_in_eager(server, target, compared, file=file) if own is not None and own.passed else None
            found.append((own, other))
    return found
