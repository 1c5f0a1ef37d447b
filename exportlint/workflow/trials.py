"""Try targets, lint what they ran, and join both kinds of evidence: what the command line and the Python API share.

Then what a trial leaves behind, where that was asked for: scripts of failures (`--save-repro`) and artefacts of
lowerings (`--artifacts`), written so that nothing of the user's is lost, and the one command that brings the most next.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.config.settings import measured_version
from exportlint.errors import UserError
from exportlint.files import Collected, SourceFile, shown
from exportlint.finding import Problem, Severity, Wanted
from exportlint.output.report import NextStep, Report
from exportlint.output.verdict import causes, doubts, names_only_its_stage
from exportlint.repro.script import MADE_BY, Script, can_repeat, scripts, slug
from exportlint.trial.findings.compilation import compilation_of
from exportlint.trial.findings.merge import merge
from exportlint.trial.findings.merge_compiled import merge_compiled
from exportlint.trial.ladder import Stop
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.outcomes import PASSED, RUNNING, SKIPPED
from exportlint.trial.protocol.purposes import COMPILE
from exportlint.trial.protocol.stages import BREAKS, LOAD, SCRIPT, StageKind, stage_named
from exportlint.trial.protocol.target import Target, TargetError, TargetKind
from exportlint.trial.run import run_trials
from exportlint.version import __version__
from exportlint.workflow.linting import lint_files
from exportlint.workflow.progress import say, spinner

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.config.settings import Config
    from exportlint.finding import Finding
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.result import Event, StageResult, TargetReport
    from exportlint.trial.run import Judge
    from exportlint.workflow.report_building import Gathered


_LAST_LINES = 20
_ONE_BY_ONE = threading.Lock()  # trials may run side by side, the static pass is of one thread


@dataclass(frozen=True, slots=True)
class Candidate:
    """Edited source that is tried.

    goes_on  asked of each target after its exports, whether the other stages are worth it; None: they are
    what     was edited, in words, for those who wait
    """

    goes_on: Judge | None = None
    what: str = ""


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
    candidate: Candidate | None = None,
    rewrites: Wanted = Wanted.FIRST,
    stop: Stop | None = None,
) -> Examined:
    """Try the targets, and lint `found` and what the targets ran of the project.

    save_repro   the folder for a script of each failure
    artifacts    the folder for what lowerings made and proved
    jobs         processes for the static pass; None: as many as there are cores
    cache        may the static pass use its judgements of earlier runs?
    candidate    what is tried in the options' edited source
    rewrites     which of a finding's rewrites are made
    stop         where a clock may ask to end the trials, too

    Raises UserError where no trial can run.
    """
    stop = stop or Stop()
    with folder_for_models(save_repro) as models, folder_for_artefacts(artifacts) as kept:
        options = replace(options, kept_models=models, lowering=replace(options.lowering, kept=kept))
        reports = _tried(targets, options, stop, candidate or Candidate())
        tried = (stage.row.lowering for report in reports for stage in report.stages)
        lower = tuple(dict.fromkeys((*options.lower, *filter(None, tried))))
        # What was tried decides what the source is judged for: some callers try for export alone.
        config = replace(_for_installed(reports, config), lower=lower, purpose=_purpose(reports, options))
        read = _with_edited(found if stop.reason else _with_executed(found, reports), options.edited)
        with _ONE_BY_ONE:
            # Of torch.compile a trial shows every break; what it does not show is mended for other torches alone.
            by_trial = rewrites is Wanted.ALL and config.purpose == COMPILE and not options.unsafe
            gathered = lint_files(
                read,
                config,
                jobs=jobs,
                cache=cache,
                rewrites=rewrites,
                targets=_named(targets),
                mended_at=_lines_shown(read, reports) if by_trial else {},
            )
        untried = (Problem(r.path or r.name, r.line, r.broken) for r in reports if r.broken)
        gathered = replace(
            gathered,
            findings=tuple(_merged(gathered.findings, reports, config)),
            problems=(*gathered.problems, *untried, *_not_done(reports)),
            targets=tuple(replace(one, compilation=compilation_of(one, Path.cwd().resolve())) for one in reports),
            only_what_ran=not found.files,
            stopped_by=stop.signal_number,
        )
        gathered = _with_files(gathered, None if stop.reason else save_repro, artifacts)
    return Examined(gathered, config, gathered.targets)


def _purpose(reports: Sequence[TargetReport], options: TrialOptions) -> str:
    """What all that was tried was tried for: where nobody chose, and scripts only compile, that."""
    models = [one for one in reports if one.target is not None and one.stage(SCRIPT.name) is None]
    only_compiled = options.as_used and models and all(one.target and one.target.only_compiled for one in models)
    return COMPILE if only_compiled else options.purpose


def _merged(findings: Sequence[Finding], reports: Sequence[TargetReport], config: Config) -> list[Finding]:
    if config.purpose == COMPILE:
        return merge_compiled(findings, reports, root=Path.cwd())
    return merge(findings, reports, mode=config.mode)


def _named(targets: Sequence[Target]) -> list[tuple[str, str, str | None]]:
    return [(one.source, one.args, one.kwargs) for one in targets if one.kind is TargetKind.CALLABLES and one.args]


def _not_done(reports: Sequence[TargetReport]) -> Iterator[Problem]:
    """What options ask for and cannot be done, each once."""
    said: set[str] = set()
    for report in reports:
        for stage in report.stages:
            why = stage.data.get("cannot_be_done")
            if why and why not in said:
                said.add(why)
                yield Problem(report.path or report.name, None, why)


def _with_files(gathered: Gathered, scripts: Path | None, artifacts: Path | None) -> Gathered:
    """With the places of what was written for the user."""
    gathered = save_scripts(gathered, scripts) if scripts else gathered
    return keep_artefacts(gathered, artifacts) if artifacts else gathered


def _for_installed(reports: Sequence[TargetReport], config: Config) -> Config:
    """Judge for the torch that the trials ran, unless somebody chose another."""
    installed = next((report.torch for report in reports if report.torch), None)
    if installed is None or config.torch_chosen:
        return config
    return replace(config, torch=measured_version(installed)[0])


def _tried(targets: Sequence[Target], options: TrialOptions, stop: Stop, candidate: Candidate) -> list[TargetReport]:
    if not targets:
        say("the files declare no target (`model` and `example_args`), so there is nothing to try")
        return []
    beside = f", {candidate.what}" if candidate.what else ""
    with spinner(f"trying {len(targets)} target{'s' * (len(targets) > 1)}{beside}") as sign:
        ended: set[str] = set()

        def show(event: Event) -> None:
            ended.add(event.target)
            sign.update(f"target {len(ended)} of {len(targets)}, {event.target}: {event.stage} {event.status}{beside}")
            if event.status not in (RUNNING, SKIPPED) and (event.stage != LOAD.name or event.status == PASSED):
                sign.line(f"{event.target}: {event.stage} {event.status}, {event.seconds:.1f} s")

        try:
            reports = run_trials(targets, options, show, stop, candidate.goes_on)
        except TargetError as error:
            raise UserError(str(error)) from error
    if stop.reason:
        say(f"{stop.reason}: the report shows what was known by then")
    for report in reports:
        _say_output(report)
    return reports


def _say_output(report: TargetReport) -> None:
    """Show the last lines that a failed script printed, where no finding says what it failed of."""
    script = report.stage(SCRIPT.name)
    told = script is not None and any(seen.user for seen in script.observations)  # an exception, at its line
    if script and not script.passed and script.data["output"] and not told:
        last = "\n".join(script.data["output"].splitlines()[-_LAST_LINES:])
        say(f"{report.name} printed at its end:\n{last}")


def _with_edited(found: Collected, edited: Mapping[str, str]) -> Collected:
    """With the source that lies over the files, also over some that they only import."""
    known = {str(file.absolute) for file in found.files}
    imported = (SourceFile(Path(path), shown(Path(path))) for path in edited if path not in known)
    files = sorted((*found.files, *imported), key=lambda file: file.shown)
    given = (replace(file, text=edited.get(str(file.absolute), file.text)) for file in files)
    return replace(found, files=tuple(given)) if edited else found


def _with_executed(found: Collected, reports: Sequence[TargetReport]) -> Collected:
    """`found`, the files that declare targets, and what eager ran of the project (not of installed packages)."""
    paths = [Path(report.path) for report in reports if report.path]
    ran = (path for report in reports for path in report.executed)
    paths += [Path(path) for path in ran if is_user_path(path) and not is_installed(path)]
    known = {file.path.resolve() for file in found.files}
    more = {path.resolve(): path for path in paths if path.is_file() and path.resolve() not in known}
    files = (*found.files, *(SourceFile(path, shown(path)) for path in more.values()))
    return Collected(tuple(sorted(files, key=lambda file: file.shown)), found.problems)


def _lines_shown(read: Collected, reports: Sequence[TargetReport]) -> dict[str, frozenset[int]]:
    """Of each file, the lines that the trials of torch.compile show something of, which is all that there is to mend:
    making the rewrites of all that a library's file holds takes minutes. Nothing where one has no answer."""
    found: dict[str, set[int]] = {str(file.absolute): set() for file in read.files}
    for report in reports:
        breaks = report.stage(BREAKS.name)
        if breaks is None or not breaks.passed:
            return {}
        for seen in (one for stage in report.stages for one in stage.observations):
            own = [seen.user] if seen.user is not None and not is_installed(seen.user.path) else seen.frames
            for frame in own:
                found.setdefault(str(Path(frame.path).resolve()), set()).add(frame.line)
    return {path: frozenset(lines) for path, lines in found.items()}


# Scripts of `--save-repro DIR`.


_HEAD_CHARACTERS = 5000  # characters of a file in which its first words stand


@contextmanager
def folder_for_models(scripts_folder: Path | None) -> Iterator[Path | None]:
    """A temporary folder for the live models that a trial keeps; None where no scripts are asked for.

    Raises UserError, before the trial, which may take long, where nothing can be written to the folder of the scripts.
    """
    if scripts_folder is None:
        yield None
        return
    try:
        scripts_folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=scripts_folder):
            pass
    except OSError as error:
        raise UserError(
            f"--save-repro: {scripts_folder} cannot be written to: {error.strerror}; name a folder of your own"
        ) from error
    with tempfile.TemporaryDirectory(prefix="exportlint-") as models:
        yield Path(models)


def save_scripts(gathered: Gathered, folder: Path) -> Gathered:
    """Write a script for each failure; its name goes to its stage, and what is in the way is a problem."""
    writer = _ScriptWriter(folder)
    targets = tuple(writer.with_scripts(report) for report in gathered.targets)
    return replace(gathered, targets=targets, problems=(*gathered.problems, *writer.problems))


class _ScriptWriter:
    """Writes the scripts of several targets into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[Problem] = []
        self._taken: set[str] = set()

    def with_scripts(self, report: TargetReport) -> TargetReport:
        """The report, with the paths of its scripts at their stages."""
        paths: dict[str, tuple[str, ...]] = {}
        for script in scripts(report):
            if script.text is None:
                say(f"target {report.name}: no script for {script.stage}: {script.why}")
            elif path := self._written(script, script.text):
                paths[script.stage] = (*paths.get(script.stage, ()), path)
        stages = (replace(stage, repros=paths.get(stage.name, ())) for stage in report.stages)
        return replace(report, stages=tuple(stages))

    def _written(self, script: Script, text: str) -> str | None:
        """Where it was written; None where somebody else's file stands."""
        path = self.folder / self._free_name(script)
        if not _replaced_script(path, text):
            what = "exists and is not from exportlint: it was left as it is"
            self.problems.append(Problem(path.as_posix(), None, what))
            return None
        if script.model_file:
            shutil.copyfile(script.model_file, self.folder / script.model_name)
        return path.as_posix()

    def _free_name(self, script: Script) -> str:
        """Two targets of one run may have the same name in different folders."""
        stem = script.name.removesuffix(".py")
        names = (script.name, *(f"{stem}-{number}.py" for number in range(2, 1000)))
        name = next(name for name in names if name not in self._taken)
        self._taken.add(name)
        return name


def _replaced_script(path: Path, text: str) -> bool:
    """All of it or nothing. A file that an earlier run wrote is replaced, any other is not touched."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8", dir=path.parent, suffix=".part", delete=False) as part:
        part.write(text)
    try:
        if path.exists() and MADE_BY in path.read_text("utf-8", errors="replace")[:_HEAD_CHARACTERS]:
            os.replace(part.name, path)  # noqa: PTH105 (NamedTemporaryFile gives a str)
            return True
        os.link(part.name, path)  # refuses to replace, whoever was quicker
    except FileExistsError:
        return False
    finally:
        Path(part.name).unlink(missing_ok=True)
    return True


# Artefacts of `--artifacts DIR`, each in a folder, whole or not at all.


# Lists what we wrote into a folder: such a folder, with nothing else in it, may be replaced.
CONTENTS = "made-by-exportlint.json"


@contextmanager
def folder_for_artefacts(folder: Path | None) -> Iterator[Path | None]:
    """A temporary folder inside of `folder`, from which artefacts are moved into it; None where none are kept.

    Raises UserError, before the trial, which may take long, where nothing can be written.
    """
    if folder is None:
        yield None
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".exportlint-", dir=folder, ignore_cleanup_errors=True) as made:
            yield Path(made)
    except OSError as error:
        raise UserError(
            f"--artifacts: {folder} cannot be written to: {error.strerror}; name a folder of your own"
        ) from error


def keep_artefacts(gathered: Gathered, folder: Path) -> Gathered:
    """Move what passed into `folder`; its place goes to its stage, and what is in the way is a problem."""
    keeper = _ArtefactKeeper(folder)
    targets = tuple(keeper.kept(report) for report in gathered.targets)
    return replace(gathered, targets=targets, problems=(*gathered.problems, *keeper.problems))


class _ArtefactKeeper:
    """Moves the artefacts of several targets into one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._taken: set[str] = set()
        self.problems: list[Problem] = []

    def kept(self, report: TargetReport) -> TargetReport:
        """The report, with the folders of its artefacts at their stages."""
        return replace(report, stages=tuple(self._moved(report, stage) for stage in report.stages))

    def _moved(self, report: TargetReport, stage: StageResult) -> StageResult:
        if not stage.row.lowering or "kept" not in stage.data:
            return stage
        made = Path(stage.data["kept"])
        place = self._folder / self._free_name(f"{slug(report.name)}-{stage.row.lowering}")
        _write_contents(made, report, stage)
        if place.exists() and not _is_ours(place):
            what = "exists and is not from exportlint: it was left as it is"
            self.problems.append(Problem(place.as_posix(), None, what))
            return stage
        _replace_folder(made, place)
        return replace(stage, artifact=place.as_posix())

    def _free_name(self, name: str) -> str:
        """Two targets of one run may have the same name in different folders."""
        names = (name, *(f"{name}-{number}" for number in range(2, 1000)))
        free = next(one for one in names if one not in self._taken)
        self._taken.add(free)
        return free


def _write_contents(made: Path, report: TargetReport, stage: StageResult) -> None:
    said = {
        "exportlint": __version__,
        "torch": report.torch,
        "target": report.name,
        "lowering": stage.row.lowering,
        "proved": stage.detail,
        "files": [CONTENTS, *_files_in(made)],
    }
    (made / CONTENTS).write_text(json.dumps(said, indent=2) + "\n", "utf-8")


def _files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir())


def _is_ours(place: Path) -> bool:
    try:
        said = json.loads((place / CONTENTS).read_text("utf-8"))
        return set(_files_in(place)) <= set(said["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _replace_folder(made: Path, place: Path) -> None:
    """`made` gets the modes of any new folder: temporary ones are for their owner alone."""
    mask = os.umask(0)
    os.umask(mask)
    made.chmod(0o777 & ~mask)
    if place.exists():
        place.rename(made.with_suffix(".old"))
    made.rename(place)


# What to do next, as one command.


def next_step(report: Report) -> NextStep | None:
    """The one thing that brings the most: mend the first failure, or go nearer to the device."""
    failing = [(target, group[0]) for target in report.targets for group in causes(report.findings, target)]
    # A target that did not load is reported as a problem, with what to do.
    loud = [
        (target, one)
        for target, one in failing
        if one.severity is not Severity.NOTE
        and not (one.stage is not None and stage_named(one.stage).kind is StageKind.LOAD)
    ]
    if loud:
        return _after_failure(*min(loud, key=lambda pair: pair[1].severity.rank))
    for target in report.targets:
        for doubt in doubts(target, report.findings):
            return _mended_or_explained(target, doubt)
    exported = [
        target
        for target in report.targets
        if target.command_line and any(s.row.kind is StageKind.EXPORT and s.passed for s in target.stages)
        if target.target is None or not target.target.only_compiled
    ]
    if report.problems or not exported:
        return None
    if plain := [target for target in exported if not any(stage.row.lowering for stage in target.stages)]:
        return _another_trial("Exported. Next, compile it for where it is to run", "--lower all", plain)
    if frozen := [target for target in exported if not target.dynamic_shapes]:
        return _another_trial("Next, see which sizes need not be the sample's", "--dynamic auto", frozen)
    return None


def _another_trial(why: str, option: str, targets: list[TargetReport]) -> NextStep:
    every = list(dict.fromkeys(target.command_line for target in targets))
    # Everything behind the `--` of a script is the script's own, so nothing can follow it.
    has_own_arguments = any(target.target and target.target.arguments for target in targets)
    given = every[0] if has_own_arguments else " ".join(every)
    return NextStep(why, f"exportlint trial {option} {given}")


def _mended_or_explained(target: TargetReport, finding: Finding) -> NextStep:
    place = f"{finding.path}:{finding.line}"
    if target.command_line and finding.fix and finding.fix.edits:
        return NextStep(f"Next, {place}: try a rewrite of it on this model", f"exportlint fix {target.command_line}")
    return NextStep(f"Next, {place}: see what to write instead", f"exportlint explain {finding.rule}")


def _after_failure(target: TargetReport, finding: Finding) -> NextStep | None:
    place = f"{finding.path}:{finding.line}"
    stage = target.stage(finding.stage) if finding.stage else None
    if not names_only_its_stage(finding):
        return _mended_or_explained(target, finding)
    if stage and stage.status == SKIPPED and stage.row.lowering and target.command_line:
        return _another_trial("Next, see whether it compiles all the same", f"--lower {stage.row.lowering}", [target])
    if stage and stage.repros:
        return NextStep(f"Next, {place}: this script shows the failure alone", f"python {stage.repros[0]}")
    if stage is None or not can_repeat(target, stage.name):
        return None
    first = "try what stands above under instead; or " if finding.fix else ""
    why = f"Next, {place}: {first}take the failure out into a script of its own"
    lower = f"--lower {stage.row.lowering} " if stage.row.lowering else ""
    return NextStep(why, f"exportlint trial {lower}--save-repro repro {target.command_line or target.name}")
