"""Say what another torch version changes for the sources, by one run of the static pass, or for every fixture class."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from exportlint.finding import Severity, Wanted
from exportlint.output.upgrade_report import ChangedPlace, UpgradeReport
from exportlint.static.suppressions import UNUSED
from exportlint.static.version_judge import DEFAULT, ChangedCases, default_mode, version_pair
from exportlint.workflow.linting import lint_files
from exportlint.workflow.report_building import build_report

if TYPE_CHECKING:
    from exportlint.config.settings import Config
    from exportlint.files import Collected
    from exportlint.finding import Finding
    from exportlint.static.version_judge import VersionPair
    from exportlint.version_change import Change


def compared_versions(before: str, after: str, config: Config, *, default_modes: bool = False) -> VersionPair:
    """The two as they are judged; `default_modes`: each in the mode of a call that passes no `strict=`.

    Raises UserError for versions of which nothing is known.
    """
    return version_pair(before, after, config.purpose, (DEFAULT,) if default_modes else config.modes)


def changed_in_sources(
    found: Collected, config: Config, versions: VersionPair, *, jobs: int | None = None, keep: bool = True
) -> UpgradeReport:
    """Each place that a rule suspects, told by what the two versions do with such code.

    `keep`: remember the judgements of files, as `exportlint check` does and for it too.
    """
    rules = {info.name: info for info in config.rules()}
    judge = cache(lambda name, in_python: ChangedCases(rules[name], versions, in_python=in_python))
    gathered = lint_files(
        found,
        config,
        jobs=jobs,
        cache=keep,
        rewrites=Wanted.NONE,
        judge=lambda rule, in_python: judge(rule.name, in_python),
    )
    report = build_report(gathered, config)

    def change_of(finding: Finding) -> Change | None:
        """Of what a comment does not silence here nothing is said: another version may have it to silence."""
        return None if finding.rule == UNUSED else judge(finding.rule, finding.in_python).change(finding.case)

    places = [
        ChangedPlace(
            finding.rule,
            finding.case,
            finding.path,
            finding.line,
            finding.column,
            finding.message,
            finding.fix.description if finding.fix else "",
            change.is_worse and finding.severity is not Severity.NOTE,
            change,
        )
        for finding in report.findings
        if (change := change_of(finding))
    ]
    silenced = sum((change := change_of(finding)) is not None and change.is_worse for finding in report.suppressed)
    made = _report(places, config, versions)
    return replace(made, files=report.files, silenced=silenced, problems=report.problems)


def changed_in_fixtures(config: Config, versions: VersionPair) -> UpgradeReport:
    """Each class of the rules' fixtures that changes: all that is known of what the two versions do differently."""
    from exportlint.pages.changed_classes import changed_classes  # noqa: PLC0415 (reads all fixtures)

    places = [
        ChangedPlace(
            one.rule, one.name, one.path, one.line, 0, f"{one.caption}: {one.does}", "", one.change.is_worse, one.change
        )
        for info in config.rules()
        for one in changed_classes(info, versions)
    ]
    return replace(_report(places, config, versions), unit="class")


def _report(places: list[ChangedPlace], config: Config, versions: VersionPair) -> UpgradeReport:
    before, after = versions.before, versions.after
    return UpgradeReport(
        before.name,
        after.name,
        (before.by, after.by),
        versions.between,
        versions.is_downgrade,
        config.purpose,
        versions.ways,
        tuple(sorted(places, key=lambda place: place.sort_key)),
        0,
        remarks=tuple(_remarks(versions)),
    )


def _remarks(versions: VersionPair) -> list[str]:
    """What stands beside the measurements: of which versions they are, and the mode of a call that names none."""
    before, after = versions.before, versions.after
    found = [one.remark for one in (before, after) if one.remark]
    modes = default_mode(before.asked), default_mode(after.asked)
    is_export = any(way != "compile" for way in versions.ways)
    if is_export and DEFAULT not in versions.ways and modes[0] != modes[1]:
        found.append(
            f"a call of torch.export.export without `strict=` is {modes[0]} in torch {before.name} and {modes[1]} in "
            f"{after.name}: `--mode default` compares these"
        )
    return found
