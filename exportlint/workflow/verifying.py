"""Try an edit that somebody else made beside what it edits, by the court that `exportlint fix` asks of its rewrites."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.files import Collected
from exportlint.repair.edition import Edition
from exportlint.repair.probes import with_probes
from exportlint.repair.rounds import OtherSettings
from exportlint.repair.verification import Sought, judged
from exportlint.repair.wellformed import what_is_broken
from exportlint.repair.written_numbers import numbers_of_edit
from exportlint.trial.parent.session import kept_session
from exportlint.trial.protocol.outcomes import DIFFERS
from exportlint.trial.protocol.stages import SAME_BEHAVIOUR
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
    from exportlint.repair.probes import Probed
    from exportlint.repair.verification import Beside, Verified
    from exportlint.trial.parent.server import Server
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
        deletes = f"the edit deletes {', '.join(change.deleted)}, and changes no other" if change.deleted else ""
        raise UserError(f"{deletes or 'the edit changes no'} Python file, so there is nothing to verify{others}")
    if broken := what_is_broken(change.before, change.after):
        raise UserError(f"the edit breaks a file: {broken}")
    with tempfile.TemporaryDirectory(prefix="exportlint-") as folder:
        numbers = numbers_of_edit(change.before, change.after)
        options = replace(options, behaviour=_folder(folder, "trial"), keep=True, thorough=True, numbers=numbers)
        unedited = replace(options, edited=change.before, as_unedited=change.before)
        before = _tried(targets, config, unedited, "before the edit")
        edited = replace(unedited, edited=change.after, timeout=seconds_for_edited(before, options))
        after = with_same_targets(_tried(targets, config, edited, "after the edit"), models_of(before))
        before = replace(before, targets=tuple(models_of(before)))
        sought = Sought(
            with_probes(change.before, change.after, untouched=True), with_probes(change.after, change.before)
        )
        if _all_differ(after):  # nothing is graver
            return judged(change, before, after, sought, OtherSettings())
        old, new = replace(unedited, timeout=edited.timeout), replace(edited, as_unedited=edited.edited)
        # The trial compared them on inputs that were sought at length for the model before the edit.
        there = _beside(
            targets, replace(old, thorough=False), sought.before, new, _folder(folder, "there"), options, turned=False
        )
        back = _beside(targets, new, sought.after, old, _folder(folder, "back"), options, turned=True)
        edition = Edition({path: text.encode() for path, text in change.before.items()}, change.after)
        settings = under_other_settings(targets, unedited, edition)
        return judged(change, before, after, replace(sought, there=there, back=back), settings)


def _folder(inside: str, name: str) -> Path:
    made = Path(inside, name)
    made.mkdir()
    return made


def _all_differ(after: Report) -> bool:
    stages = [one.stage(SAME_BEHAVIOUR.name) for one in after.targets]
    return bool(stages) and all(one is not None and one.status == DIFFERS for one in stages)


def _tried(targets: Sequence[Target], config: Config, options: TrialOptions, what: str) -> Report:
    examined = examine(targets, Collected((), ()), config, options, candidate=Candidate(what=what))
    return build_report(examined.gathered, examined.config)


def _beside(
    targets: Sequence[Target],
    one: TrialOptions,
    probed: Probed,
    other: TrialOptions,
    folder: Path,
    first: TrialOptions,
    *,
    turned: bool,
) -> list[Beside]:
    """Of each target, what it does with the source of `one` on inputs that are sought for it, and what it does with
    that of the `other` beside it. What `one` computes is kept in `folder`; what the trial kept, with the options
    `first`. `turned`: is `one` the edited source?

    The inputs are sought for the text with probes. Where that does not run, TorchScript reads the source say, they are
    sought for the text as it is, and no probe saw anything.
    """
    found: list[Beside] = []
    compared = replace(other, as_unedited=one.edited)
    asked = {"thorough": one.thorough, "turned": turned}
    with kept_session(one.python) as server:
        runs = _kept(server, targets, replace(one, edited=probed.texts, as_unedited=probed.texts), folder, first)
        if not all(stage is not None and stage.passed for stage in runs.values()):
            runs = _kept(server, targets, replace(one, as_unedited=one.edited), folder, first)
        for target in each_model(server, targets, other):
            own, file = runs.get(target.identity), str(folder / first.behaviour_of(target).name)
            runs_too = own is not None and own.passed
            found.append((own, compared_in_eager(server, target, compared, file=file, **asked) if runs_too else None))
    return found


def _kept(
    server: Server, targets: Sequence[Target], options: TrialOptions, folder: Path, first: TrialOptions
) -> dict[tuple[object, ...], StageResult | None]:
    """Of each target how it ran, by its identity."""
    return {
        target.identity: compared_in_eager(
            server,
            target,
            options,
            file=str(folder / first.behaviour_of(target).name),
            keep=True,
            selections=str(first.behaviour_of(target)),
            thorough=options.thorough,
            numbers=options.numbers,
        )
        for target in each_model(server, targets, options)
    }
