"""Rewrite what a trial shows to be wrong, and try each rewrite before it is offered."""

from __future__ import annotations

import contextlib
import signal
import stat
import sys
import tempfile
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.files import Collected, SourceError, decode, project_folder
from exportlint.finding import Applicability, Evidence, Severity, Wanted
from exportlint.repair.edition import Edition
from exportlint.repair.improvement import AS_BEFORE, not_the_same, runs, why_not
from exportlint.repair.proposals import Proposal, compatible
from exportlint.repair.rounds import PATIENCE as PATIENCE_OF_REPAIR
from exportlint.repair.rounds import OtherSettings, Stopped, repair
from exportlint.repair.script_run import gives_nothing, mended_until_it_gives
from exportlint.repair.settings_read import settings_read
from exportlint.repair.wellformed import what_is_broken
from exportlint.static.unforeseen_rewrites import (
    is_about_an_undeclared_size,
    is_of_compile,
    rules_that_mend_notes,
    with_declared_shapes,
    with_drafted_kernel,
    with_non_strict_mode,
    with_rewrites,
    with_switch_off,
)
from exportlint.trial.parent.scripts import run_script
from exportlint.trial.parent.session import kept_session
from exportlint.trial.parent.stage_runner import StageRunner
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.outcomes import CRASHED, NON_STRICT, REFUSED, STRICT
from exportlint.trial.protocol.purposes import COMPILE
from exportlint.trial.protocol.result import StageResult
from exportlint.trial.protocol.stages import (
    BREAKS,
    COST,
    DYNAMIC_SHAPES,
    EAGER,
    LADDER,
    LOAD,
    SAME_BEHAVIOUR,
    SCRIPT,
    StageKind,
)
from exportlint.trial.protocol.target import TargetKind
from exportlint.trial.run import as_it_runs
from exportlint.workflow.progress import PATIENCE, say
from exportlint.workflow.report_building import build_report
from exportlint.workflow.trials import Candidate, examine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from exportlint.config.settings import Config
    from exportlint.finding import Finding, Fix
    from exportlint.output.report import Report
    from exportlint.repair.rounds import Repaired
    from exportlint.trial.parent.server import Server
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.result import TargetReport
    from exportlint.trial.protocol.target import Target


# How long a stage of an edited model may take, by the slowest stage of the unedited one.
_TIMES_THE_SLOWEST = 10
_SECONDS_AT_LEAST = 15.0
_EXPORTS = tuple(stage.name for stage in LADDER if stage.kind is StageKind.EXPORT)
_TO_TIME = (LOAD.name, EAGER.name, BREAKS.name, COST.name)
# Of torch.compile every break counts by itself, and its trial is short: more rewrites are tried than of an export.
_PATIENCE_FOR_COMPILE = 2 * PATIENCE_OF_REPAIR
_FOR_A_SCRIPT = 120.0  # seconds in which rewrites are tried of a script that gives nothing yet


def mend(
    targets: Sequence[Target],
    config: Config,
    options: TrialOptions,
    budget: float | None = None,
    *,
    installed: bool = False,
) -> Repaired[Report]:
    """Rewrite what the targets run, round after round, until they export or nothing more helps; nothing is written.

    budget      seconds, after which no further rewrite is tried; None: by how long the trial takes
    installed   try rewrites of installed packages too, for somebody who maintains them

    Raises UserError where no trial can run. Ctrl-C and SIGTERM end it with what was found by then.
    """
    began = time.monotonic()
    with _stopped_by_signals(), tempfile.TemporaryDirectory(prefix="exportlint-") as folder:
        options = replace(options, behaviour=Path(folder), keep=True)
        roots = _project_roots(targets)
        one_by_one = threading.Lock()  # several rewrites may be tried at once

        first: list[TargetReport] = []  # the targets of the unedited source
        seconds = options.timeout  # for a stage of an edited model: a loop that was rewritten may have no end

        def tried(
            edited: Mapping[str, str],
            goes_on: Callable[[TargetReport], bool] | None = None,
            what: str = "",
            **other: Any,
        ) -> Report:
            if what and time.monotonic() - began > PATIENCE and not sys.stderr.isatty():
                say(f"trying {what}")
            how = replace(options, edited=edited, timeout=seconds, **other)
            none = Collected((), ())
            examined = examine(targets, none, config, how, candidate=Candidate(goes_on, what), rewrites=Wanted.ALL)
            report = build_report(examined.gathered, examined.config)
            with one_by_one:
                seen = [_in_a_mode_that_passes(_seen(one, edited), report, edited) for one in report.findings]
                found = tuple(
                    one if installed else _of_own_files(one, roots) for one in _declared(seen, report, edited)
                )
                return replace(report, findings=tuple(map(_without_python, found)) if options.lower else found)

        def attempt(
            edited: Mapping[str, str], goes_on: Callable[[TargetReport], bool] | None = None, what: str = ""
        ) -> Report:
            nonlocal seconds
            is_first = edited == options.as_unedited
            report = begun.pop() if is_first and begun else tried(edited, goes_on, what)
            with one_by_one:
                first.extend(models_of(report) if is_first else ())
                report = with_same_targets(report, first)
            if is_first:
                seconds = seconds_for_edited(report, options)
            return report

        begin, begun, since = Edition(), [tried({})], began
        if gives_nothing(begun[0]):
            end = time.monotonic() + (_FOR_A_SCRIPT if budget is None else budget)
            shortly = partial(tried, behaviour=None, quick=True)
            begin = mended_until_it_gives(lambda edited, what: shortly(edited, what=what), begin, begun[0], end)
            if begin.texts:
                options = replace(options, edited=begin.texts, as_unedited=begin.texts)
                begun, since = [], time.monotonic()
        done = repair(
            attempt,
            partial(under_other_settings, targets, options),
            config.modes,
            budget,
            partial(caveats_of, targets, options),
            begin,
            since,
            partial(computes_else, targets, options),
            _PATIENCE_FOR_COMPILE if options.purpose == COMPILE else PATIENCE_OF_REPAIR,
        )
        with _what_was_found_stays(done):
            if not done.stopped and done.before.targets and not begin.texts:
                _take_what_is_noted(done, attempt)
            if options.unsafe and config.torch and not done.stopped and done.before.targets:
                _take_for_older_torch(done, attempt, config.torch, options)
            if options.purpose == COMPILE and done.edition.texts and not done.stopped:
                reports = [tried(texts, behaviour=None, only=_TO_TIME) for texts in (begin.texts, done.edition.texts)]
                pairs = list(zip(*(models_of(report) for report in reports), strict=False))
                costs = [(old.compilation.cost, new.compilation.cost) for old, new in pairs]
                done.costs = [(old, new) for old, new in costs if old and new]
                if why := next((found for old, new in pairs if (found := _fails_when_called_often(old, new))), ""):
                    done.withdraw(begin, why)
        done.edition = done.edition.with_sides(*_sides(done.before)).with_lines_not_run(_run(done.before))
        return done


def _fails_when_called_often(old: TargetReport, new: TargetReport) -> str:
    """Is the compiled model called many times, and raises at last, where it did not? In words."""
    was, now = old.stage(COST.name), new.stage(COST.name)
    if was is None or now is None or not was.passed or now.status not in (REFUSED, CRASHED):
        return ""
    return f"called many times, the compiled model raises: {now.full_detail}"


@contextlib.contextmanager
def _what_was_found_stays(done: Repaired[Report]) -> Iterator[None]:
    """Where somebody asks to end while more is looked for."""
    try:
        yield
    except Stopped as stop:
        done.stopped = stop.number


def seconds_for_edited(unedited: Report, options: TrialOptions) -> float:
    """How long a stage of the edited source may take: an edit may bring a loop that never ends."""
    slowest = max((stage.seconds for one in unedited.targets for stage in one.stages), default=0.0)
    return min(options.timeout, _TIMES_THE_SLOWEST * slowest + _SECONDS_AT_LEAST)


def models_of(report: Report) -> list[TargetReport]:
    """Those of its targets that a model stands behind: the run of a script is none."""
    return [one for one in report.targets if one.stage(SCRIPT.name) is None]


def with_same_targets(report: Report, first: list[TargetReport]) -> Report:
    """The report with the same targets as the `first` one. Where the run of a script ends before it gives what it gave
    at first, that is missing; what it only scripted, and does not any more, is as it was."""
    now = {one.target.identity: one for one in models_of(report) if one.target is not None}
    runs = [one for target in report.targets if (one := target.stage(SCRIPT.name)) is not None]
    ended = next((one.full_detail for one in runs), "")
    goes_through = all(one.passed for one in runs)
    same = [
        now.get(old.target.identity)
        or (old if goes_through and old.target.is_prepared else None)
        or replace(old, stages=(StageResult(LOAD.name, CRASHED, detail=ended),), executed={})
        for old in first
        if old.target is not None
    ]
    return replace(report, targets=tuple(same))


def _take_what_is_noted(done: Repaired[Report], attempt: Callable[[Mapping[str, str]], Report]) -> None:
    """What does no harm and has no place in a file for export, where its rule says so: taken where the model computes
    what it did, and no stage is worse."""
    rules = rules_that_mend_notes()
    found = [one for one in (*done.after.findings, *done.after.cleared) if one.rule in rules and one.rewrites]
    ways = [(one, one.rewrites[0]) for one in found if one.severity is Severity.NOTE]
    edition = compatible(ways).applied(done.edition) if ways and all(map(runs, done.after.targets)) else done.edition
    if edition.digest == done.edition.digest or what_is_broken(edition.found, edition.texts):
        return
    tried = attempt(edition.texts)
    done.tried += 1
    if why_not(done.after, tried) in (None, AS_BEFORE):
        done.edition, done.after = edition, tried


def _take_for_older_torch(
    done: Repaired[Report], attempt: Callable[[Mapping[str, str]], Report], wanted: str, options: TrialOptions
) -> None:
    """What is written for a torch older than the one that tries, which shows no harm and can show no cure: taken where
    the model computes what it did, and no stage is worse."""
    with kept_session(options.python) as server:
        installed = str(server.facts["torch"])
    if _release(wanted) >= _release(installed):
        return
    unshown = (Evidence.SUSPECTED, Evidence.CLEARED)
    both = (*done.after.findings, *done.after.cleared)  # cleared by a torch that it is not written for
    left = [one for one in both if one.evidence in unshown and one.severity is not Severity.NOTE]
    ways = [(one, one.rewrites[0]) for one in left if one.rewrites and not one.rewrites[0].both_sides_of]
    if not ways:
        return
    edition = compatible(ways).applied(done.edition)
    tried = attempt(edition.texts)
    if why_not(done.after, tried) in (None, AS_BEFORE):
        old, new = (".".join(map(str, _release(version))) for version in (wanted, installed))
        told = f"for torch {old}, which did not run here; torch {new} computes the same with it"
        done.edition, done.after = edition.with_caveats_since(done.edition, [told]), tried


def _release(version: str) -> tuple[int, int]:
    """(2, 6) of "2.6.0"."""
    major, minor, *_ = version.split(".")
    return int(major), int(minor)


def as_they_run(targets: Sequence[Target], options: TrialOptions) -> list[Target]:
    """The targets, with scripts in place of files that raise where they hand their model to torch."""
    with kept_session(options.python) as server:
        return [as_it_runs(server, target, options) for target in targets]


def purpose_of_scripts(targets: Sequence[Target], options: TrialOptions) -> str:
    """What scripts are mended for where nobody says it: for torch.compile where they hand models to nothing else, as a
    trial takes it; they are run for that. Of other targets what `options` say."""
    if not options.as_used or not all(one.kind is TargetKind.SCRIPT for one in targets):
        return options.purpose
    with kept_session(options.python) as server:
        given = list(each_model(server, targets, options))
    return COMPILE if given and all(one.only_compiled for one in given) else options.purpose


@contextlib.contextmanager
def _stopped_by_signals() -> Iterator[None]:
    """The first Ctrl-C or SIGTERM raises Stopped; a second Ctrl-C ends this process as ever."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def under_other_settings(targets: Sequence[Target], options: TrialOptions, edition: Edition) -> OtherSettings:
    """Beside the unedited model, of which that is kept for every set of settings that edited functions read."""
    read = settings_read(edition.found, edition.texts)
    if not read:
        return OtherSettings()
    differs = ""
    with kept_session(options.python) as server:
        kept: set[Path] = set()
        for target in each_model(server, targets, options):
            file = options.behaviour_of(target, repr(read))
            done = (
                None
                if file.exists()
                else compared_in_eager(server, target, options, file=str(file), keep=True, read=read)
            )
            kept |= {file} if file.exists() and (done is None or done.passed) else set()
        edited = replace(options, edited=edition.texts)
        for target in each_model(server, targets, edited):
            file = options.behaviour_of(target, repr(read))
            if file not in kept:
                continue  # it does not run under other settings, or not in time
            now = compared_in_eager(server, target, edited, file=str(file), unsafe=True)
            if now is None or not now.passed:
                return OtherSettings(f"under other settings: {now.full_detail if now else 'it does not load'}")
            differs = differs or "; ".join(now.data.get("caveats", ()))
    if differs and not options.unsafe:
        return OtherSettings(f"{differs}: --unsafe takes it")
    return OtherSettings(differs=differs)


def caveats_of(targets: Sequence[Target], options: TrialOptions, edition: Edition) -> set[str]:
    """What the comparison in eager tells of the edition; nothing where it is not the same."""
    found: set[str] = set()
    with kept_session(options.python) as server:
        edited = replace(options, edited=edition.texts)
        for target in each_model(server, targets, edited):
            file = str(options.behaviour_of(target))
            now = compared_in_eager(server, target, edited, file=file, unsafe=True)
            found.update(now.data.get("caveats", ()) if now is not None and now.passed else ())
    return found


def computes_else(targets: Sequence[Target], options: TrialOptions, edition: Edition) -> str | None:
    """What the edited model computes else than the unedited one, in eager; None where it computes the same."""
    with kept_session(options.python) as server:
        edited = replace(options, edited=edition.texts)
        for target in each_model(server, targets, edited):
            now = compared_in_eager(
                server, target, edited, file=str(options.behaviour_of(target)), unsafe=options.unsafe
            )
            if now is None or not now.passed:
                return not_the_same(now)
    return None


def each_model(server: Server, targets: Sequence[Target], options: TrialOptions) -> Iterator[Target]:
    """The targets, of a script those that a run of it gives."""
    for target in targets:
        if target.kind is TargetKind.SCRIPT:
            yield from run_script(server, target, options)[1]
        else:
            yield target


def compared_in_eager(server: Server, target: Target, options: TrialOptions, **asked: Any) -> StageResult | None:
    with StageRunner(server, target, options) as runner:
        return runner.fresh(SAME_BEHAVIOUR, **asked) if runner.load().passed else None


def _seen(finding: Finding, edited: Mapping[str, str]) -> Finding:
    """With the rewrites of what no rule foresaw, and with the fake kernel that the trial drafted."""
    drafted = finding.fix and (finding.fix.kernel or finding.fix.switch)
    if finding.evidence is not Evidence.DISCOVERED and not drafted and not is_of_compile(finding):
        return finding
    path = Path(finding.path).resolve()
    text = _text(path, edited)
    if text is None:
        return finding
    return with_switch_off(with_drafted_kernel(with_rewrites(finding, path, text), path, text), path, text)


def _text(path: Path, edited: Mapping[str, str]) -> str | None:
    """What stands in the file, with what was edited; None where nobody can read it."""
    try:
        return edited.get(str(path)) or decode(path.read_bytes())
    except (OSError, SourceError):
        return None


def _in_a_mode_that_passes(finding: Finding, report: Report, edited: Mapping[str, str]) -> Finding:
    """Of what a target shows that asks for strict mode: with the other one, where that was seen to agree with eager."""
    for target in report.targets:
        asked = target.target.asked_modes if target.target is not None else ()
        passes = target.agrees(NON_STRICT) and not target.agrees(STRICT)
        if asked == (STRICT,) and passes and finding.target == target.name and target.path and target.line:
            path = Path(target.path).resolve()
            text = _text(path, edited)
            return with_non_strict_mode(finding, path, text, target.line) if text is not None else finding
    return finding


def _declared(findings: Sequence[Finding], report: Report, edited: Mapping[str, str]) -> list[Finding]:
    """With what the trial of a target proposes to declare, at its call: of a size that was not declared; and of dims
    that torch refuses as they are declared, after what would mend the model. Of several findings the one that an export
    showed has it."""
    found = list(findings)
    for target in report.targets:
        stage = target.stage(DYNAMIC_SHAPES.name)
        if stage is None or not stage.passed or not target.dynamic_shapes or not target.path or not target.line:
            continue
        about = [one for one in found if is_about_an_undeclared_size(one)]
        instead = [one for one in found if one.target == target.name] if not about and not target.exported else []
        wanted = min((*about, *instead), key=lambda one: one.stage not in _EXPORTS, default=None)
        path = Path(target.path).resolve()
        if wanted is not None and (text := _text(path, edited)) is not None:
            where = (path, text, target.line, target.dynamic_shapes)
            found[found.index(wanted)] = with_declared_shapes(wanted, *where, instead=not about)
    return found


def _of_own_files(finding: Finding, roots: frozenset[Path]) -> Finding:
    """Without rewrites that edit a file which is not the project's: an installed package, where the next install undoes
    them, what lies elsewhere and is only imported, and what nobody may write."""
    own = (fix for fix in finding.rewrites if all(_is_to_edit(Path(one.path), roots) for one in fix.edits))
    return replace(finding, rewrites=tuple(own)) if finding.rewrites else finding


def _is_to_edit(path: Path, roots: frozenset[Path]) -> bool:
    file = path.resolve()
    if is_installed(str(file)) or roots.isdisjoint(file.parents):
        return False
    return not file.exists() or bool(file.stat().st_mode & _WRITABLE)  # root may write what is meant to stay


_WRITABLE = stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH


def _project_roots(targets: Sequence[Target]) -> frozenset[Path]:
    """The working directory, and the folders of the projects that the targets' files are part of."""
    files = (Path(one.source.rpartition(":")[0] or one.source) for one in targets)
    folders = [Path.cwd().resolve(), *(file.resolve().parent for file in files if file.suffix == ".py")]
    return frozenset(map(project_folder, folders))


def _sides(before: Report) -> tuple[set[tuple[str, int]], dict[tuple[str, int], str]]:
    """The `if`s of which inputs took both sides; and the others, of which what stands there was compared on one side
    alone."""
    stages = [stage for target in before.targets if (stage := target.stage(SAME_BEHAVIOUR.name)) is not None]
    one = {
        (str(Path(path).resolve()), line): f"no input that was tried makes its test {'false' if value else 'true'}"
        for stage in stages
        for path, line, value in stage.data.get("one_sided", ())
    }
    both = {(str(Path(path).resolve()), line) for stage in stages for path, line in stage.data.get("two_sided", ())}
    return both, {place: text for place, text in one.items() if place not in both}


def _run(before: Report) -> dict[str, set[int]]:
    """The lines that calls of the unedited models ran, by real path."""
    found: dict[str, set[int]] = {}
    stages = [stage for target in before.targets if (stage := target.stage(SAME_BEHAVIOUR.name)) is not None]
    for path, lines in (one for stage in stages for one in stage.data.get("run", {}).items()):
        found.setdefault(str(Path(path).resolve()), set()).update(lines)
    return found


def _without_python(finding: Finding) -> Finding:
    """With the rewrites alone whose program runs on a target of deployment, which has no Python."""
    return replace(finding, rewrites=tuple(fix for fix in finding.rewrites if not fix.needs_python))


def rewritten(findings: Sequence[Finding], *, unsafe: bool) -> tuple[Edition, list[Finding]]:
    """The files of the findings after every rewrite that is right by construction, and the findings that are left;
    `unsafe`: after every first rewrite, though nothing was tried."""
    ways = [
        (one, fix) for one in findings for fix in [fix for fix in one.rewrites if _is_offered(fix, unsafe=unsafe)][:1]
    ]
    proposal, edition = compatible(ways), Edition()
    if _breaks(whole := proposal.applied(edition)):
        proposal = compatible(one for one in ways if not _breaks(Proposal((one,)).applied(edition)))
        whole = proposal.applied(edition)
    taken = {fix.edits for _, fix in proposal.parts}  # several findings may have the same rewrite
    mended = {id(finding) for finding, fix in ways if fix.edits in taken}
    return whole, [one for one in findings if id(one) not in mended]


def _breaks(edition: Edition) -> bool:
    return what_is_broken(edition.found, edition.texts) is not None


def _is_offered(fix: Fix, *, unsafe: bool) -> bool:
    return not fix.both_sides_of and (unsafe or fix.applicability is Applicability.SAFE)
