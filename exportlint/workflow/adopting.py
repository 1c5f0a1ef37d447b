"""What a report leaves out for code that adopts the tool: what a baseline holds, and what stands on unchanged lines.

What was asked for is looked at before anything is judged, so that a mistake costs no time and leaves nothing half
written.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.adoption.baseline import (
    Baseline,
    JudgedFor,
    Ran,
    compare,
    entries_of,
    in_words,
    read_baseline,
    write_baseline,
)
from exportlint.adoption.changed_lines import ChangedLines, changed_since
from exportlint.config.settings import JudgedRules, shared_folder
from exportlint.errors import UserError
from exportlint.files import shown
from exportlint.workflow.progress import say
from exportlint.workflow.report_building import Sources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.adoption.asked import Adoption
    from exportlint.config.settings import Config
    from exportlint.output.report import Report
    from exportlint.workflow.report_building import Gathered


@dataclass(frozen=True, slots=True)
class Adopting:
    """What was asked for, once it holds."""

    asked: Adoption
    known: Baseline | None
    changed: ChangedLines | None

    def applied(self, report: Report, gathered: Gathered, config: Config, *, quiet: bool = False) -> Report:
        """The report without what is left out. Writes the baseline that was to be written, and says so on stderr.

        `quiet`: says nothing of what is gone; somebody reads the report again and again.
        """
        if self.asked.write_baseline:
            return self._written(report, gathered, config, self.asked.write_baseline)
        if self.known:
            report = self._compared(report, gathered, config, self.known, quiet=quiet)
        if self.changed:
            kept = tuple(one for one in report.findings if self.changed.concern(one))
            ids = {id(one) for one in kept}
            others = tuple(one for one in report.findings if id(one) not in ids)
            report = replace(report, findings=kept, unchanged=others)
        return report

    def _written(self, report: Report, gathered: Gathered, config: Config, file: Path) -> Report:
        entries = entries_of(report.findings, file, Sources(gathered.files).text)
        write_baseline(Baseline(file, _judged_for(config), tuple(entries)))
        say(f"{shown(file)} holds {_plural(len(entries), 'finding')}")
        return replace(report, findings=(), baselined=report.findings)

    def _compared(self, report: Report, gathered: Gathered, config: Config, known: Baseline, *, quiet: bool) -> Report:
        failed = {problem.path for problem in report.problems}
        ran = Ran(
            _judged_for(config),
            frozenset(str(file.absolute) for file in gathered.files if file.shown not in failed),
            JudgedRules(config),
            frozenset(target.name for target in report.targets),
            (*report.cleared, *report.unreached),
        )
        found = compare(known, report.findings, ran, Sources(gathered.files).text)
        healed = f"{_plural(len(found.healed), 'finding')} of {shown(known.file)}"
        told = in_words(found.healed)
        if self.asked.prune_baseline:
            if ran.judged_for != known.judged_for:
                raise UserError(
                    f"--prune-baseline: {shown(known.file)} was judged for {known.judged_for}, and this run for "
                    f"{ran.judged_for}: judge for the same, or write it anew with --write-baseline"
                )
            write_baseline(found.left)
            say(f"{healed} {'were' if len(found.healed) != 1 else 'was'} gone and taken out{told and f': {told}'}")
        elif found.healed and not quiet:
            are = "are" if len(found.healed) != 1 else "is"
            say(f"{healed} {are} gone ({told}); --prune-baseline takes {'them' if are == 'are' else 'it'} out")
        return replace(report, findings=found.new, baselined=found.known)


def prepared(asked: Adoption, near: Sequence[str]) -> Adopting:
    """What was asked for, read and looked at.

    near   the paths that the run is about; git is asked in the folder that they share

    Raises UserError, one sentence, for a baseline that cannot be read or written, a revision that is not there, and
    options that contradict each other.
    """
    if asked.write_baseline and asked.baseline:
        raise UserError("--write-baseline takes all findings, and --baseline leaves some out: give one of them")
    if asked.prune_baseline and asked.write_baseline:
        raise UserError("--write-baseline writes all anew, so there is nothing to prune: leave out --prune-baseline")
    if asked.prune_baseline and not asked.baseline:
        raise UserError("--prune-baseline needs a baseline: name it with --baseline, or in [tool.exportlint]")
    if asked.write_baseline and asked.diff_base is not None:
        raise UserError("--write-baseline takes all findings, and --diff-base leaves some out: give one of them")
    if written := asked.write_baseline or (asked.baseline if asked.prune_baseline else None):
        _refuse_unwritable(written.resolve())
    known = read_baseline(asked.baseline) if asked.baseline else None
    changed = changed_since(asked.diff_base, _existing(shared_folder(near))) if asked.diff_base is not None else None
    return Adopting(asked, known, changed)


def _refuse_unwritable(file: Path) -> None:
    if file.is_dir():
        raise UserError(f"the baseline {shown(file)} cannot be written: it is a folder; name a file")
    if not file.parent.is_dir():
        raise UserError(f"the baseline {shown(file)} cannot be written: there is no folder {shown(file.parent)}")
    if not os.access(file.parent, os.W_OK):
        raise UserError(f"the baseline {shown(file)} cannot be written: its folder may not be written to")


def _existing(folder: Path) -> Path:
    return next((one for one in (folder, *folder.parents) if one.is_dir()), Path.cwd())


def _judged_for(config: Config) -> JudgedFor:
    return JudgedFor(config.torch, config.mode, config.purpose, tuple(sorted(config.lower)))


def _plural(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
