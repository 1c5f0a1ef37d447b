"""Try several targets on every stage and lowering: a matrix of what became of them, shown while it fills."""

from __future__ import annotations

import sys
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from exportlint.errors import UserError
from exportlint.finding import Severity
from exportlint.output.matrix import Matrix, MatrixRow, WhyNot
from exportlint.trial.findings.deduplicate import findings_of
from exportlint.trial.findings.wording.finding_messages import lowering_text
from exportlint.trial.ladder import Stop
from exportlint.trial.protocol.frames import from_here
from exportlint.trial.protocol.outcomes import FAILED, MODES, RUNNING, SKIPPED
from exportlint.trial.protocol.purposes import serves
from exportlint.trial.protocol.stages import LADDER, LOAD, READ_ELSEWHERE, SWAP_DECOMPOSITION, StageKind, lowering
from exportlint.trial.protocol.target import TargetError
from exportlint.trial.run import run_trials
from exportlint.workflow.progress import say

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType
    from rich.live import Live

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.result import Event, StageResult, TargetReport
    from exportlint.trial.protocol.target import Target


# These say what a model is good for; the others say more about a failure, which a trial shows.
_COLUMNS = (
    StageKind.EAGER,
    StageKind.EXPORT,
    StageKind.COMPARE,
    StageKind.SIZES,
    StageKind.FROM_PROGRAM,
    StageKind.BREAKS,
    StageKind.RECOMPILES,
    StageKind.AGREEMENT,
    StageKind.COST,
)
_MOST_REASONS = 5  # of one stage


def run_matrix(targets: Sequence[Target], options: TrialOptions, required: Sequence[str]) -> tuple[Matrix, bool, Stop]:
    """The matrix, whether every target could be tried, and whether somebody ended the run.

    `required`: names of lowerings. Raises UserError where no trial can run.
    """
    stop, empty = Stop(), Matrix(None, tuple(_columns(options)), (), tuple(lowering(name).name for name in required))
    with live_matrix(empty, [target.name for target in targets]) as listener:
        try:
            reports = run_trials(targets, options, listener, stop)
        except TargetError as error:
            raise UserError(str(error)) from error
    broken = [report for report in reports if report.broken]
    for report in broken:
        say(f"{report.name}: {report.broken}")
    return matrix_of(reports, empty), not broken, stop


def _columns(options: TrialOptions) -> Iterator[str]:
    """The stages that say how far a target comes, in the order of the ladder."""
    shown = (row for row in LADDER if row.kind in _COLUMNS and row not in (SWAP_DECOMPOSITION, READ_ELSEWHERE))
    yield from (row.name for row in shown if serves(row.purpose, options.purpose))
    yield from (lowering(name).name for name in options.lower)


def matrix_of(reports: Sequence[TargetReport], empty: Matrix) -> Matrix:
    """With a row for each target; a script is none, but what it gave."""
    torch = next((report.torch for report in reports if report.torch), None)
    rows = tuple(_row(report, empty.stages) for report in reports if report.stage(LOAD.name))
    return Matrix(torch, empty.stages, rows, empty.required)


def _row(report: TargetReport, columns: Sequence[str]) -> MatrixRow:
    shown = [stage for stage in report.stages if stage.name in columns]
    statuses = {stage.name: stage.status for stage in shown}
    lowered = [stage for stage in shown if stage.row.lowering and not stage.passed]
    reasons = [why for stage in lowered for why in _of_lowering(stage, report)]
    load = report.stage(LOAD.name)
    if load and not load.passed:
        reasons = [WhyNot((load.name,), load.status, load.full_detail, *_place(report))]
    else:
        reasons = [*_of_model(shown, report), *_one_of_each(reasons)]
    seconds = {stage.name: stage.seconds for stage in shown}
    return MatrixRow(report.name, statuses, seconds, tuple(reasons), dict(_figures(shown)))


def _figures(shown: Sequence[StageResult]) -> Iterator[tuple[str, str]]:
    """What stages of torch.compile that passed have found: "passed" would say too much."""
    for stage in shown:
        number = sum(seen.kind in ("graph-break", "recompile") for seen in stage.observations)
        match stage.row.kind:
            case StageKind.BREAKS | StageKind.RECOMPILES if stage.passed and number:
                yield stage.name, str(number)
            case StageKind.COST if stage.passed and (ratio := stage.data["cost"]["ratio"]) is not None:
                yield stage.name, f"{ratio:g} x"


def _of_model(shown: Sequence[StageResult], report: TargetReport) -> Iterator[WhyNot]:
    """Of what comes before the lowerings. The modes of export share their findings, which the first of them has; a
    graph that breaks is no failure of its stage."""
    failed = [stage for stage in shown if stage.status in FAILED and not stage.row.lowering]
    failed += [stage for stage in shown if stage.passed and stage.row.kind in (StageKind.BREAKS, StageKind.RECOMPILES)]
    found = [one for one in findings_of(report, Path.cwd().resolve(), MODES) if one.severity is not Severity.NOTE]
    told: list[str] = []
    for stage in failed:
        own = [one for one in found if one.stage.name == stage.name]
        modes = [other.name for other in failed if other.row.mode and stage.row.mode and other.status == stage.status]
        for one in own[:_MOST_REASONS]:
            stages = tuple(modes) if len(one.effect) > 1 and modes else (stage.name,)
            told += stages
            yield WhyNot(stages, stage.status, one.message, one.path, one.line)
        if not own and stage.name not in told and not stage.passed:
            yield WhyNot((stage.name,), stage.status, stage.full_detail, *_place(report))


def _of_lowering(stage: StageResult, report: TargetReport) -> Iterator[WhyNot]:
    seen = [one for one in stage.observations if stage.status != SKIPPED]
    for one in seen[:_MOST_REASONS]:
        yield WhyNot((stage.name,), stage.status, lowering_text(one), *_place(report, one))
    if not seen:
        where = _place(report) if stage.status in FAILED else (None, None)
        yield WhyNot((stage.name,), stage.status, stage.full_detail, *where)


def _place(report: TargetReport, seen: Observation | None = None) -> tuple[str | None, int | None]:
    """Where it was seen; else where the target stands."""
    if seen is not None and seen.user is not None:
        return from_here(seen.user.path), seen.user.line
    return (from_here(report.path), report.line) if report.path and report.line else (None, None)


def _one_of_each(reasons: Sequence[WhyNot]) -> list[WhyNot]:
    """What several lowerings say in the same words stands once."""
    joined: dict[tuple[object, ...], WhyNot] = {}
    for why in reasons:
        key = (why.status, why.text, why.path, why.line)
        stages = (*joined[key].stages, *why.stages) if key in joined else why.stages
        joined[key] = WhyNot(stages, why.status, why.text, why.path, why.line)
    return list(joined.values())


# On stderr while it fills: a table on a terminal, else a line for each stage that ends.


@contextmanager
def live_matrix(empty: Matrix, names: Sequence[str]) -> Iterator[Callable[[Event], None]]:
    """What is yielded is told of every event. The table goes away at the end."""
    filling = _Filling(empty, names)
    if not sys.stderr.isatty():
        yield filling.say
        return
    from rich.console import Console  # noqa: PLC0415 (50 ms that other commands do not need)
    from rich.live import Live  # noqa: PLC0415
    from rich.theme import Theme  # noqa: PLC0415

    from exportlint.output.console import STYLES  # noqa: PLC0415

    console = Console(stderr=True, theme=Theme(STYLES), highlight=False)
    with Live(filling.shown(console.width), console=console, transient=True, refresh_per_second=4) as live:
        yield lambda event: filling.show(event, live)


class _Filling:
    """The statuses so far."""

    def __init__(self, empty: Matrix, names: Sequence[str]) -> None:
        self._empty = empty
        self._statuses: dict[str, dict[str, str]] = {name: {} for name in names}
        self._lock = threading.Lock()

    def say(self, event: Event) -> None:
        """A line for a stage that ended."""
        if event.status not in (RUNNING, SKIPPED) and event.stage in self._empty.stages:
            say(f"{event.target}: {event.stage} {event.status}, {event.seconds:.1f} s")

    def show(self, event: Event, live: Live) -> None:
        """Into the table."""
        with self._lock:
            self._statuses.setdefault(event.target, {})[event.stage] = event.status
            live.update(self.shown(live.console.width))

    def shown(self, width: int) -> RenderableType:
        from rich.console import Group  # noqa: PLC0415 (as above)

        from exportlint.output.matrix import matrix_tables  # noqa: PLC0415 (as above)

        rows = tuple(MatrixRow(name, dict(statuses), {}) for name, statuses in self._statuses.items())
        matrix = Matrix(self._empty.torch, self._empty.stages, rows)
        return Group(*matrix_tables(matrix, width))
