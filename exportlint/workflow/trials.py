"""Try targets, lint what they ran, and join both kinds of evidence: what the command line and the Python API share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.config.torch_version import measured_version
from exportlint.errors import UserError
from exportlint.files import Collected, SourceFile, shown
from exportlint.finding import Problem
from exportlint.trial.findings.merge import merge
from exportlint.trial.ladder import Stop
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.outcomes import PASSED, RUNNING, SKIPPED
from exportlint.trial.protocol.stages import LOAD, SCRIPT
from exportlint.trial.protocol.target import Target, TargetError, TargetKind
from exportlint.trial.run import run_trials
from exportlint.workflow import repro_files
from exportlint.workflow.linting import lint_files
from exportlint.workflow.lowerings import artifact_files
from exportlint.workflow.messages import say
from exportlint.workflow.progress import spinner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.config.settings import Config
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.result import Event, TargetReport
    from exportlint.workflow.report_building import Gathered


_LAST_LINES = 20


@dataclass(frozen=True, slots=True)
class Examined:
    """Both kinds of evidence as one, the configuration for the torch that was there, and the report of each trial."""

    gathered: Gathered
    config: Config
    reports: tuple[TargetReport, ...]


def examine(
    targets: Sequence[Target],
    found: Collected,
    config: Config,
    options: TrialOptions,
    *,
    save_repro: Path | None = None,
    artifacts: Path | None = None,
    jobs: int | None = None,
    cache: bool = True,
) -> Examined:
    """Try the targets, and lint `found` and what the targets ran of the project.

    save_repro   the folder for a script of each failure
    artifacts    the folder for what lowerings made and proved
    jobs         processes for the static pass; None: as many as there are cores
    cache        may the static pass use its judgements of earlier runs?

    Raises UserError where no trial can run.
    """
    stop = Stop()
    with repro_files.folder_for_models(save_repro) as models, artifact_files.folder_for_artefacts(artifacts) as kept:
        options = replace(options, kept_models=models, lowering=replace(options.lowering, kept=kept))
        reports = _tried(targets, options, stop)
        config = replace(_for_installed(reports, config), lower=options.lower)
        read = _edited(found if stop.reason else _with_executed(found, reports), options.edited)
        named = [(one.source, one.args, one.kwargs) for one in targets if one.kind is TargetKind.CALLABLES and one.args]
        gathered = lint_files(read, config, jobs=jobs, cache=cache, targets=named)
        gathered = replace(
            gathered,
            findings=tuple(merge(gathered.findings, reports, mode=config.mode)),
            problems=(*gathered.problems, *_broken(reports), *_not_done(reports)),
            targets=tuple(reports),
            only_what_ran=not found.files,
            stopped_by=stop.signal_number,
        )
        gathered = _written(gathered, None if stop.reason else save_repro, artifacts)
    return Examined(gathered, config, gathered.targets)


def _not_done(reports: Sequence[TargetReport]) -> Iterator[Problem]:
    """What options ask for and cannot be done, each once."""
    said: set[str] = set()
    for report in reports:
        for stage in report.stages:
            why = stage.data.get("cannot_be_done")
            if why and why not in said:
                said.add(why)
                yield Problem(report.path or report.name, None, why)


def _written(gathered: Gathered, scripts: Path | None, artifacts: Path | None) -> Gathered:
    """With the places of what was written for the user."""
    gathered = repro_files.save(gathered, scripts) if scripts else gathered
    return artifact_files.keep(gathered, artifacts) if artifacts else gathered


def _broken(reports: Sequence[TargetReport]) -> Iterator[Problem]:
    """The targets that could not be tried at all."""
    return (Problem(r.path or r.name, r.line, r.broken) for r in reports if r.broken)


def _for_installed(reports: Sequence[TargetReport], config: Config) -> Config:
    """Judge for the torch that the trials ran, unless somebody chose another."""
    installed = next((report.torch for report in reports if report.torch), None)
    if installed is None or config.torch_chosen:
        return config
    return replace(config, torch=measured_version(installed)[0])


def _tried(targets: Sequence[Target], options: TrialOptions, stop: Stop) -> list[TargetReport]:
    if not targets:
        say("the files declare no target (`model` and `example_args`), so there is nothing to try")
        return []
    with spinner(f"trying {len(targets)} target{'s' * (len(targets) > 1)}") as sign:
        ended: set[str] = set()

        def show(event: Event) -> None:
            ended.add(event.target)
            sign.update(f"target {len(ended)} of {len(targets)}, {event.target}: {event.stage} {event.status}")
            if event.status not in (RUNNING, SKIPPED) and (event.stage != LOAD.name or event.status == PASSED):
                sign.line(f"{event.target}: {event.stage} {event.status}, {event.seconds:.1f} s")

        try:
            reports = run_trials(targets, options, show, stop)
        except TargetError as error:
            raise UserError(str(error)) from error
    if stop.reason:
        say(f"{stop.reason}: the report shows what was known by then")
    for report in reports:
        _say_output(report)
    return reports


def _say_output(report: TargetReport) -> None:
    """Show the last lines that a failed script printed."""
    script = report.stage(SCRIPT.name)
    if script and not script.passed and script.data["output"]:
        last = "\n".join(script.data["output"].splitlines()[-_LAST_LINES:])
        say(f"{report.name} printed at its end:\n{last}")


def _edited(found: Collected, edited: Mapping[str, str]) -> Collected:
    """With the source that lies over the files."""
    files = (replace(file, text=edited.get(str(file.absolute), file.text)) for file in found.files)
    return replace(found, files=tuple(files)) if edited else found


def _with_executed(found: Collected, reports: Sequence[TargetReport]) -> Collected:
    """`found`, the files that declare targets, and what eager ran of the project (not of installed packages)."""
    paths = [Path(report.path) for report in reports if report.path]
    ran = (path for report in reports for path in report.executed)
    paths += [Path(path) for path in ran if is_user_path(path) and not is_installed(path)]
    known = {file.path.resolve() for file in found.files}
    more = {path.resolve(): path for path in paths if path.is_file() and path.resolve() not in known}
    files = (*found.files, *(SourceFile(path, shown(path)) for path in more.values()))
    return Collected(tuple(sorted(files, key=lambda file: file.shown)), found.problems)
