"""What is kept of one target that a sweep tried, and what became of it in a word."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.outcomes import DIFFERS, OUTCOME_OF, SKIPPED, Outcome
from exportlint.trial.protocol.stages import EAGER, LOAD, SOUNDNESS, StageKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.protocol.result import TargetReport
    from exportlint.trial.protocol.target import Target


class SweptOutcome(str, enum.Enum):
    """What became of a target: the words of a truth, and those for what never came to an export."""

    EXPORTS = "exports"
    DIFFERS = "differs"
    REFUSED = "refused"
    CRASHED = "crashed"
    TIMED_OUT = "timed-out"
    NOT_LOADED = "not-loaded"  # it could not be made
    NO_EAGER = "no-eager"  # it is there, and does not run in eager
    NOT_TRIED = "not-tried"  # exportlint could not try it, or was kept from it


# What `sweep export` writes.
TABLES = ("results", "stages", "causes", "graph-breaks", "repairs")
FAILURES = tuple(one for one in SweptOutcome if one is not SweptOutcome.EXPORTS)


@dataclass(frozen=True, slots=True)
class Planned:
    """A target of a sweep. `key`: what the result depends on, as a hash; `sources`: file -> hash of its content."""

    key: str
    target: Target
    library: str
    family: str
    versions: Mapping[str, str] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cause:
    """A finding that counts and that the trial has shown. `mend`: what to write instead; `tried`: whether the trial saw
    that it helps; `kind`: the case of its rule, empty where a trial alone found it."""

    rule: str
    stage: str | None
    severity: str
    path: str
    line: int
    message: str
    mend: str = ""
    tried: bool = False
    kind: str = ""


@dataclass(frozen=True, slots=True)
class GraphBreak:
    """Where torch.compile ends a graph. `rule`: the one that knows it, empty where none does; `times`: how often."""

    rule: str
    reason: str
    path: str
    line: int
    times: int


@dataclass(frozen=True, slots=True)
class Repair:
    """What came of trying rewrites on a target that failed.

    outcome    of the target with those that help; what it was where none does
    rewrites   rule and description of each that was taken
    tried      how many ran
    diff       of all that were taken; nothing is written
    seconds    that it took
    """

    outcome: SweptOutcome
    rewrites: tuple[tuple[str, str], ...]
    tried: int
    diff: str
    seconds: float


@dataclass(frozen=True, slots=True)
class SweptStage:
    """A stage of the ladder, as a row."""

    name: str
    status: str
    seconds: float
    detail: str
    error_class: str | None


@dataclass(frozen=True, slots=True)
class SweepResult:
    """One target, tried.

    detail   one sentence, of what did not come to an export why
    breaks   where torch.compile ends a graph
    repair   what came of trying rewrites, where that was asked for and the target failed
    ran      file -> the lines that eager ran inside of the model's calls
    also     file -> hash of what it ran of the user's files and the key did not count on
    report   the report of the trial by the JSON contract of `exportlint trial`
    """

    key: str
    outcome: SweptOutcome
    detail: str
    started: str
    seconds: float
    stages: tuple[SweptStage, ...] = ()
    causes: tuple[Cause, ...] = ()
    breaks: tuple[GraphBreak, ...] = ()
    repair: Repair | None = None
    ran: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    also: Mapping[str, str] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)


def outcome_of(report: TargetReport, mode: str) -> tuple[SweptOutcome, str]:
    """What became of a target in a mode of export, and of what did not export the sentence that says why.

    What the stages after the export found is in their rows; only a difference from eager is an outcome, since such a
    program is no export of the model.
    """
    for row, failed in ((LOAD, SweptOutcome.NOT_LOADED), (EAGER, SweptOutcome.NO_EAGER)):
        stage = report.stage(row.name)
        if stage is None or stage.status == SKIPPED:
            return SweptOutcome.NOT_TRIED, report.broken or (stage.brief_detail if stage else "")
        if not stage.passed:
            return failed, report.broken or stage.brief_detail
    export = report.of(lambda row: row.mode == mode and row.kind is StageKind.EXPORT)
    if export is None or export.status not in OUTCOME_OF:
        return SweptOutcome.NOT_TRIED, export.brief_detail if export else ""
    if OUTCOME_OF[export.status] is not Outcome.EXPORTS:
        return SweptOutcome(export.status), export.brief_detail
    soundness = report.stage(SOUNDNESS.name)
    if soundness is not None and soundness.status == DIFFERS and not report.agrees(mode, beside_sizes=True):
        return SweptOutcome.DIFFERS, soundness.brief_detail
    return SweptOutcome.EXPORTS, ""


def rows_of(report: TargetReport) -> tuple[SweptStage, ...]:
    """The stages that did something."""
    return tuple(
        SweptStage(stage.name, stage.status, round(stage.seconds, 3), stage.full_detail, stage.error_class)
        for stage in report.stages
        if stage.status != SKIPPED
    )
