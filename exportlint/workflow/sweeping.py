"""Sweep over many targets: find them, try what the store has no result of, and keep each result as it comes."""

from __future__ import annotations

import fnmatch
import sys
import threading
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import datetime, timezone
from functools import cache, partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.config.settings import CommandLine, load_config
from exportlint.errors import UserError, nearest
from exportlint.files import Collected
from exportlint.finding import Evidence, Severity
from exportlint.output.json_report import as_data
from exportlint.repair.rounds import Stopped
from exportlint.sweep.closure import SourceReader, content_hash
from exportlint.sweep.environment import Environment, environment
from exportlint.sweep.key import options_of, planned
from exportlint.sweep.portable import portable
from exportlint.sweep.result import Cause, GraphBreak, Repair, SweepResult, SweptOutcome, outcome_of, rows_of
from exportlint.trial.discovery import from_zoo
from exportlint.trial.ladder import Stop
from exportlint.trial.parent.session import terminated_like_interrupted
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.target import ZOOS, TargetKind
from exportlint.workflow.progress import say
from exportlint.workflow.repairing import mend
from exportlint.workflow.report_building import build_report
from exportlint.workflow.target_choice import chosen_by_name
from exportlint.workflow.trials import examine

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
    from typing import Any

    from rich.progress import Progress, TaskID

    from exportlint.config.settings import Config
    from exportlint.finding import Finding
    from exportlint.sweep.executor import Executor
    from exportlint.sweep.result import Planned
    from exportlint.sweep.store import Store
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.result import TargetReport
    from exportlint.trial.protocol.target import Target

_STANDARD_INPUT = "-"
# Of what rewrites are tried.
_MENDED = (SweptOutcome.REFUSED, SweptOutcome.DIFFERS, SweptOutcome.CRASHED)
_PATTERN = frozenset("*?[")


def plan(
    specs: Sequence[str], config: Config, options: TrialOptions, shard: tuple[int, int] = (1, 1), *, fix: bool = False
) -> tuple[list[Planned], Environment]:
    """The targets that the words name, each once and in the order of names, with their keys; of them the share of a
    shard, (which, of how many). `fix`: rewrites are going to be tried of what fails.

    Raises UserError for a pattern that matches nothing.
    """
    words = [word for spec in specs for word in (_from_stdin() if spec == _STANDARD_INPUT else [spec])]
    every = {point.name: point.value for point in entry_points(group=ZOOS)}
    zoos = {name: every[name] for word in words if (name := word.partition(":")[0]) in every and ":" in word}
    found = environment(options.python, zoos)
    if "torch" not in found.packages:
        where = options.python or "this Python"
        raise UserError(f"{where} has no torch, so nothing can be tried: pip install 'exportlint[torch]'")
    reader = SourceReader([Path.cwd()])
    targets: dict[str, tuple[Target, str, str]] = {}
    for word in words or [""]:
        for target, library, family in _of_word(word, every, found, config):
            targets.setdefault(target.name, (target, library, family))
    which, number = shard
    share = sorted(targets)[which - 1 :: number]
    made = ((name, *targets[name]) for name in share)
    return [
        planned(target, options, found.packages, reader, library=library, family=family, fix=fix)
        for _, target, library, family in made
    ], found


def _from_stdin() -> list[str]:
    """A target a line; what follows a # is a comment."""
    lines = (line.partition("#")[0].strip() for line in sys.stdin)
    return [line for line in lines if line]


def _of_word(word: str, zoos: dict[str, str], found: Environment, config: Config) -> Iterator[tuple[Target, str, str]]:
    library, colon, model = word.partition(":")
    if colon and library in zoos:
        if library in found.wrong:
            raise UserError(f"{word}: {found.wrong[library]}")
        models = found.models[library]
        name, comma, more = model.partition(",")
        names = fnmatch.filter(models, name) if _PATTERN & set(name) else [name]
        if not names:
            near = nearest(name.strip("*"), models, 0.4)
            raise UserError(f"{word}: no model of {library} has such a name{near}; it has {len(models)}")
        for one in names:
            target = from_zoo(f"{library}:{one}{comma}{more}", zoos)
            if target is not None:
                yield target, library, models.get(one, one)
        return
    for target in chosen_by_name([word] if word else [], config):
        folder = Path(target.path).parent.as_posix() if target.path else target.source.partition(":")[0]
        yield target, "", folder


def run_sweep(
    targets: Sequence[Planned],
    specs: Sequence[str],
    torch: str,
    options: TrialOptions,
    store: Store,
    executor: Executor[Planned, SweepResult],
    again: Collection[SweptOutcome] = (),
    shard: tuple[int, int] = (1, 1),
    *,
    fix: bool = False,
) -> int:
    """Try what the store has no good result of; each result is in the store before the next is waited for. The number
    of the sweep."""
    number = store.begin(specs, options_of(options, fix=fix), torch, targets, shard)
    known = store.done([one.key for one in targets], again)
    todo = [one for one in targets if one.key not in known]
    added = 0
    try:
        with (
            terminated_like_interrupted(),
            _watched(len(todo), len(known)) as tell,
            closing(_iterator(executor, todo)) as results,
        ):
            for job, result in results:
                store.add(result)
                added += 1
                tell(job, result)
    except (KeyboardInterrupt, SystemExit):
        say(f"{added} of {len(todo)} are done and kept in {store.path}; the same command goes on from there")
        raise
    return number


def _iterator(
    executor: Executor[Planned, SweepResult], todo: Sequence[Planned]
) -> Generator[tuple[Planned, SweepResult], None, None]:
    for done in executor.results(todo):
        yield done.job, done.result or _lost(done.job, done.lost)


def _lost(job: Planned, why: str) -> SweepResult:
    return SweepResult(job.key, SweptOutcome.NOT_TRIED, why, _now(), 0.0)


# In a worker.


def worker(options: TrialOptions, mode: str, seconds: float, *, fix: bool = False) -> Callable[[Planned], SweepResult]:
    """The function that tries one target, for an executor: it can be pickled."""
    return partial(try_target, options=replace(options, keep=True, jobs=1), mode=mode, seconds=seconds, fix=fix)


def try_target(job: Planned, options: TrialOptions, mode: str, seconds: float, *, fix: bool = False) -> SweepResult:
    """Try a target, and word what came of it.

    mode      of the choices of --mode
    seconds   for all of its stages, after which those that have not begun are left out
    fix       try rewrites where its export fails, of installed packages too, in what is left of the time
    """
    began, started = time.monotonic(), _now()
    # The library is imported once a worker, as torch is.
    once = replace(options, preload=(job.target.zoo,)) if job.target.zoo else options
    try:
        result = _tried(job, once, mode, seconds, started)
        left = max(seconds - (time.monotonic() - began), 0.0)
        return _with_repair(result, job, options, mode, left) if fix and result.outcome in _MENDED else result
    except UserError as error:
        why = str(error)
    except Exception as error:  # noqa: BLE001 (one target in which exportlint itself fails is no end of four hundred)
        why = f"exportlint failed: {type(error).__name__}: {error}; `exportlint trial {job.target.name}` shows where"
    return SweepResult(job.key, SweptOutcome.NOT_TRIED, why, started, round(time.monotonic() - began, 3))


def _tried(job: Planned, options: TrialOptions, mode: str, seconds: float, started: str) -> SweepResult:
    began, stop = time.monotonic(), Stop()
    clock = threading.Timer(seconds, setattr, (stop, "why", f"the {seconds:g} seconds for one target were over"))
    clock.daemon = True
    clock.start()
    try:
        examined = examine([job.target], Collected((), ()), _config(mode), options, jobs=1, stop=stop)
    finally:
        clock.cancel()
    made = build_report(examined.gathered, examined.config)
    outcome, detail = _gravest(examined.reports, options)
    models, data = _models(examined.reports), as_data(made)
    return SweepResult(
        job.key,
        outcome,
        detail,
        started,
        round(time.monotonic() - began, 3),
        stages=tuple(row for one in models for row in rows_of(one)),
        causes=tuple(_causes(made.findings)),
        breaks=tuple(_breaks(data)),
        ran=_ran(models),
        also=_not_in_key(job, examined.reports),
        report=data,
    )


def _with_repair(result: SweepResult, job: Planned, options: TrialOptions, mode: str, seconds: float) -> SweepResult:
    """With what came of trying rewrites, by the whole ladder."""
    began = time.monotonic()
    whole = replace(options, keep=False, quick=False, only=())
    try:
        done = mend([job.target], _config(mode), whole, seconds, installed=True)
    except Stopped:
        raise KeyboardInterrupt from None
    except Exception as error:  # noqa: BLE001 (as above; what the trial found stays)
        return replace(result, detail=f"{result.detail}; rewrites could not be tried: {type(error).__name__}: {error}")
    if done.stopped:  # what it found by then would count as all that can be found
        raise KeyboardInterrupt
    outcome, _ = _gravest(done.after.targets, options)
    taken = tuple((reason.rule, reason.description) for reason in done.edition.reasons)
    diff = "\n".join(done.edition.diff())
    return replace(result, repair=Repair(outcome, taken, done.tried, diff, round(time.monotonic() - began, 3)))


def _gravest(reports: Sequence[TargetReport], options: TrialOptions) -> tuple[SweptOutcome, str]:
    """A script's own report is followed by those of what it handed over; the gravest stands for the file."""
    order = list(SweptOutcome)
    return max((outcome_of(one, options.modes[0]) for one in _models(reports)), key=lambda one: order.index(one[0]))


def _models(reports: Sequence[TargetReport]) -> Sequence[TargetReport]:
    handed = [one for one in reports if one.target is None or one.target.kind is not TargetKind.SCRIPT]
    return handed or reports


def _causes(findings: Sequence[Finding]) -> Iterator[Cause]:
    for one in findings:
        if one.severity is not Severity.NOTE and one.evidence is not Evidence.SUSPECTED:
            what, tried = (one.fix.description, one.fix.tried == "verified") if one.fix else ("", False)
            yield Cause(
                one.rule,
                one.stage,
                one.severity.value,
                portable(one.path),
                one.line,
                one.message,
                what,
                tried,
                one.case,
            )


def _breaks(data: Mapping[str, Any]) -> Iterator[GraphBreak]:
    """By the JSON contract of a trial."""
    for target in data["targets"]:
        for one in target["graph_breaks"]:
            path = portable(one["path"]) if one["path"] else ""
            yield GraphBreak(one["rule"] or "", one["reason"], path, one["line"] or 0, one["times"])


def _ran(reports: Sequence[TargetReport]) -> dict[str, tuple[int, ...]]:
    """The lines that ran inside of the models' calls."""
    found: dict[str, set[int]] = {}
    for report in reports:
        for path, lines in (*report.called.items(), *report.called_in_packages.items()):
            if is_user_path(path):
                found.setdefault(portable(path), set()).update(lines)
    return {path: tuple(sorted(lines)) for path, lines in found.items()}


def _not_in_key(job: Planned, reports: Sequence[TargetReport]) -> dict[str, str]:
    """What ran of the user's files beside those that the key counts."""
    counted = {str(Path(path).resolve()) for path in job.sources}
    ran = {str(Path(path).resolve()) for report in reports for path in report.executed if is_user_path(path)}
    return {path: content_hash(Path(path)) for path in sorted(ran - counted) if not is_installed(path)}


@cache
def _config(mode: str) -> Config:
    return load_config(["."], CommandLine(mode=mode))


def _now() -> str:
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


# On stderr while it runs: a bar on a terminal, else a line a minute.


_LINE_SECONDS = 60.0


@contextmanager
def _watched(total: int, known: int) -> Iterator[Callable[[Planned, SweepResult], None]]:
    before = f", {known} had a result already" if known else ""
    say(f"trying {total} target{'' if total == 1 else 's'}{before}")
    watch = _Watch(total)
    if sys.stderr.isatty():
        with watch.shown() as bar:
            yield bar
    else:
        yield watch.line


class _Watch:
    """How far it is."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        self.failing = 0
        self._began = self._said = time.monotonic()

    def count(self, result: SweepResult) -> None:
        self.done += 1
        self.failing += result.outcome is not SweptOutcome.EXPORTS

    def line(self, job: Planned, result: SweepResult) -> None:
        """Once a minute."""
        self.count(result)
        now = time.monotonic()
        if now - self._said < _LINE_SECONDS:
            return
        self._said = now
        rate = self.done / (now - self._began)
        left = (self.total - self.done) / rate
        say(
            f"{self.done} of {self.total} done, {self.failing} of them failing, {rate * 60:.1f} a minute, "
            f"{_duration(left)} left; last was {job.target.name}: {result.outcome.value}"
        )

    @contextmanager
    def shown(self) -> Iterator[Callable[[Planned, SweepResult], None]]:
        from rich.console import Console  # noqa: PLC0415 (50 ms that other commands do not need)
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn  # noqa: PLC0415

        columns = (
            MofNCompleteColumn(),
            TextColumn("{task.fields[failing]} failing, {task.fields[rate]:.1f} a minute"),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task("", total=self.total, failing=0, rate=0.0)
            yield partial(self._update, bar, task)

    def _update(self, bar: Progress, task: TaskID, job: Planned, result: SweepResult) -> None:
        self.count(result)
        rate = self.done / (time.monotonic() - self._began) * 60
        bar.update(task, completed=self.done, failing=self.failing, rate=rate, description=job.target.name)


def _duration(seconds: float) -> str:
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min"
