"""Run the stages of one target in order, and skip those that cannot run or would show nothing new.

What is true of a stage its row says, in `exportlint.trial.protocol.stages`; here the rows are only walked over.
"""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from exportlint.cores import result_of
from exportlint.trial.findings.wording.difference_messages import NOTHING_COMPILED, support_line
from exportlint.trial.findings.wording.finding_messages import stage_detail
from exportlint.trial.findings.wording.size_messages import sentences, shapes_text
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.operator_support import OperatorSupport
from exportlint.trial.protocol.outcomes import DIFFERS, FAILED, PASSED, RUNNING, SKIPPED, worst
from exportlint.trial.protocol.purposes import EXPORT, serves
from exportlint.trial.protocol.result import Event, Guard, StageResult, TargetReport
from exportlint.trial.protocol.stages import (
    EAGER,
    EXPORTS,
    GRAPH,
    LADDER,
    LOAD,
    OTHER_PROCESS,
    SAME_BEHAVIOUR,
    SAME_PROGRAM,
    SECOND_EXPORT,
    WITHOUT_GRADIENTS,
    Start,
    accepted_modes,
    lowering,
    passed_modes,
    tolerates_refusals,
)
from exportlint.trial.protocol.target import TargetKind
from exportlint.trial.protocol.torch_messages import misfit_of_shapes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.options import TrialOptions
    from exportlint.trial.protocol.result import KeptModel
    from exportlint.trial.protocol.size_facts import ShapesFound
    from exportlint.trial.protocol.stages import Stage
    from exportlint.trial.protocol.target import Target


# Made by a run, by a caller's process, by a library.
_LIVE = (TargetKind.SEEN, TargetKind.OBJECTS, TargetKind.ZOO)


class Runner(Protocol):
    """Runs stages of one target. `exportlint.trial.parent.stage_runner` does it in processes."""

    def load(self) -> StageResult:
        """Import the target and make it once."""

    def fresh(self, stage: Stage, **options: Any) -> StageResult:
        """A stage that starts afresh."""

    def elsewhere(self, stage: Stage, files: Sequence[Path], **options: Any) -> StageResult | None:
        """A stage in a process in which the sets in the files have another order; None where they have none."""

    def export(self, stage: Stage) -> StageResult:
        """An export; the program of one that passes is kept for the stages that follow."""

    def following(self, stage: Stage, mode: str, **options: Any) -> StageResult:
        """A stage that goes on from the program that is kept of the mode."""

    def kept_model(self, folder: Path) -> KeptModel:
        """The model and its inputs in a new file of the folder."""


@dataclass
class Stop:
    """Set by a signal handler or a clock, and read by the ladders, which then skip what they have not begun.

    signal_number   of the first signal that came; None while nobody asked
    why             another reason to end, as a sentence
    """

    signal_number: int | None = None
    why: str | None = None

    def by(self, number: int) -> None:
        """Ask to end; the first signal counts."""
        self.signal_number = self.signal_number or number

    @property
    def reason(self) -> str | None:
        """Why stages are skipped; None while nobody asked."""
        if self.signal_number is None:
            return self.why
        by = "Ctrl-C" if self.signal_number == signal.SIGINT else signal.Signals(self.signal_number).name
        return f"the run was stopped by {by}"


@dataclass
class LadderRun:
    """One run of the ladder on one target.

    lowerings     name -> module of those that are asked for
    workers       how many stages may run at the same time
    stop          where somebody may ask to end the run: what is not done by then is skipped
    goes_on       asked after the exports of edited source: is it worth the stages that follow?
    """

    runner: Runner
    target: Target
    options: TrialOptions
    lowerings: Mapping[str, str] = field(default_factory=dict)
    on_event: Callable[[Event], None] = lambda _event: None
    results: dict[str, StageResult] = field(default_factory=dict)
    graph: Mapping[str, Any] | None = None
    workers: int = 1
    stop: Stop = field(default_factory=Stop)
    goes_on: Callable[[TargetReport], bool] | None = None
    _why_over: str | None = None

    def report(self) -> TargetReport:
        """Run every stage that has something to do, and report what happened."""
        self._climb()
        if self.stop.reason:
            return self._report()
        if self.options.graph and passed_modes(self):
            self._describe_graph()
        kept = self._kept_model()
        return replace(self._report(), kept_model=kept)

    def _climb(self) -> None:
        """What loads and runs, then the exports, then side by side all that asks no more than what those gave."""
        stages = list(self.stages())
        pool = ThreadPoolExecutor(self.workers)
        try:
            for several in self._in_steps(stages):
                for done in [pool.submit(self._do, stage) for stage in several]:
                    result_of(done)
        finally:  # after an interrupt nobody waits for the threads: their processes are ended
            pool.shutdown(wait=False, cancel_futures=True)
        self.results = {stage.name: self.results[stage.name] for stage in stages}

    def _in_steps(self, stages: Sequence[Stage]) -> Iterator[list[Stage]]:
        """The rungs, from below. Edited source is compared with the unedited one before it is exported: where they
        differ, nothing else matters."""
        first = [SAME_BEHAVIOUR] if self.options.behaviour and self.options.is_edited else []
        for rung in sorted({stage.rung for stage in stages}):
            if rung == EXPORTS:
                yield first
                if not all(self.results[one.name].passed for one in first):
                    self._why_over = "the edited source computes something else"
            yield [stage for stage in stages if stage.rung == rung and stage not in first]
            if rung == EXPORTS and self.goes_on and not self.goes_on(self._report()):
                self._why_over = "the edited source does not help"

    def _do(self, stage: Stage) -> None:
        why = self.stop.reason or self._why_over or stage.reason_to_skip(self)
        result = skipped(stage, why) if why else self._run(stage)
        if self.stop.reason and not why:  # its process was ended; what it had sent counts
            sent = tuple(seen for seen in result.observations if "ended" not in seen.details)
            result = replace(skipped(stage, f"{self.stop.reason} meanwhile"), observations=sent)
        self._add(result)

    def stages(self) -> Iterator[Stage]:
        """The rows of the ladder, those of the chosen modes and lowerings only; of a quick run the first ones."""
        own = [stage for stage in LADDER if stage.mode in (None, *self.options.modes) and stage.is_wanted(self)]
        own = [stage for stage in own if not self.options.only or stage.name in self.options.only]
        yield from (stage for stage in own if stage.rung <= EXPORTS or not self.options.quick)
        yield from [SAME_BEHAVIOUR] if self.options.behaviour else ()
        yield from [SAME_PROGRAM] if self.options.behaviour and self.options.is_edited and self._exports else ()
        yield from (one for one in map(lowering, self.lowerings) if one.is_wanted(self))

    @property
    def _exports(self) -> bool:
        return serves(EXPORT, self.options.purpose)

    def status(self, stage: Stage) -> str | None:
        return self.results[stage.name].status if stage.name in self.results else None

    def data(self, stage: Stage) -> Mapping[str, Any]:
        return self.results[stage.name].data if stage.name in self.results else {}

    def observations(self, stage: Stage) -> Sequence[Observation]:
        return self.results[stage.name].observations if stage.name in self.results else ()

    def seconds(self, stage: Stage) -> float:
        return self.results[stage.name].seconds if stage.name in self.results else 0.0

    def _run(self, stage: Stage) -> StageResult:
        self.on_event(Event(self.target.name, stage.name, RUNNING))
        without = {WITHOUT_GRADIENTS: True} if self.data(EAGER).get(WITHOUT_GRADIENTS) else {}
        asked = {**stage.options(self), **without}
        match stage.start:
            case Start.LOAD:
                return self.runner.load()
            case Start.HELD:
                return self.runner.export(stage)
            case Start.FOLLOWING:
                return self.runner.following(stage, mode=(passed_modes(self) or self.options.modes)[0], **asked)
            case Start.EACH_PROGRAM:
                return self._for_each_program(stage, asked)
        return self.runner.fresh(stage, **asked)

    def _for_each_program(self, stage: Stage, asked: Mapping[str, Any]) -> StageResult:
        """For the modes that gave a program, and where non-strict was refused, for what an error-tolerant export gives.

        What one mode bakes the other mostly refuses, and a strict export takes long: only the first is exported twice.
        Eager runs once more where the sets of the target's own files, as far as they ran, have another order.
        """
        modes = accepted_modes(self)
        beside: list[StageResult] = []
        if modes:
            ran = self.data(EAGER).get("executed", {})
            own = [Path(path) for path in ran if is_user_path(path) and not is_installed(path)]
            beside = [self.runner.fresh(SECOND_EXPORT, mode=modes[0])]
            beside += filter(None, [self.runner.elsewhere(OTHER_PROCESS, own, mode=modes[0], modes=modes)])
        parts = [self.runner.following(stage, mode=mode, twice=mode == modes[0], **asked) for mode in modes]
        if tolerates_refusals(self):
            parts.append(self.runner.fresh(stage, tolerant=True))
        parts += [one for one in beside if one.name == OTHER_PROCESS.name and one.status in (PASSED, DIFFERS)]
        return replace(_united(parts), name=stage.name, seconds=sum(part.seconds for part in (*beside, *parts)))

    def _add(self, result: StageResult) -> None:
        if (support := OperatorSupport.from_dict(result.data.get("operators", {}))).rows:
            result = replace(result, support=support_line(support))
        if result.detail is None:
            detail, error_class = stage_detail(result)
            result = replace(result, detail=detail, error_class=error_class)
        if result.data.get("recalled"):
            result = replace(result, detail=f"{result.detail}; {NOTHING_COMPILED}")
        self.results[result.name] = result
        self.on_event(Event(self.target.name, result.name, result.status, result.seconds, result.full_detail))

    def _describe_graph(self) -> None:
        """The program, to be shown; a stage of the ladder only where that failed."""
        result = self.runner.following(GRAPH, mode=passed_modes(self)[0])
        self.graph = result.data.get("graph")
        if not result.passed:
            self._add(result)

    def _kept_model(self) -> KeptModel | None:
        """Of a failure that is to be shown without a trial, the model and inputs that no code names."""
        load, folder = self.results[LOAD.name], self.options.kept_models
        is_named = self.target.kind not in _LIVE or load.data.get("code")
        failed = load.passed and any(result.status in FAILED for result in self.results.values())
        return self.runner.kept_model(folder) if folder and failed and not is_named else None

    def _report(self) -> TargetReport:
        data: dict[str, Any] = {}
        for result in self.results.values():
            data |= result.data
        executed = {path: frozenset(lines) for path, lines in data.get("executed", {}).items()}
        parts = [data.get(name, {}) for name in ("called", "called_with_other_sizes")]
        called = {path: frozenset(line for part in parts for line in part.get(path, ())) for path in parts[0]}
        found = data.get("dynamic_shapes")
        shapes = shapes_text(found) if found else self._declared(data.get("declared_shapes"))
        return TargetReport(
            self.target.name,
            self.target.path,
            self.target.line,
            tuple(self.results.values()),
            executed,
            shapes,
            tuple(_guards(found)) if found else (),
            broken=data.get("broken"),
            target=self.target,
            graph=self.graph,
            called=called,
            called_in_packages={path: frozenset(lines) for path, lines in data.get("called_in_packages", {}).items()},
        )

    def _declared(self, declared: str | None) -> str | None:
        """What the target declares; where that does not fit its inputs, what was tried in its place and exports."""
        seen = [one for result in self.results.values() for one in result.observations]
        if not any(one.kind == "exception" and misfit_of_shapes(one.text) for one in seen):
            return declared
        return next((str(one.details["shapes"]) for one in seen if "shapes" in one.details), None)


def _united(parts: Sequence[StageResult]) -> StageResult:
    told = [part for part in parts if part.status != SKIPPED] or parts
    status = worst([part.status for part in told])
    shown: dict[str, list[str]] = {}
    for mode, kinds in (item for part in told for item in part.data.get("shown", {}).items()):
        shown[mode] = [*shown.get(mode, ()), *kinds]
    return replace(
        next(part for part in told if part.status == status),
        observations=tuple(seen for part in told for seen in part.observations),
        data={"shown": shown},
    )


def _guards(found: ShapesFound) -> Iterator[Guard]:
    for text, place in sentences(found):
        yield Guard(text, place[0], place[1]) if place else Guard(text, None, None)


def skipped(stage: Stage, why: str) -> StageResult:
    """The result of a stage that had nothing to do."""
    return StageResult(stage.name, SKIPPED, detail=why)
