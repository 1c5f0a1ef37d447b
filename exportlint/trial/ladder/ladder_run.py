"""Run the stages of one target in order, and skip those that cannot run or would show nothing new."""

from __future__ import annotations

import hashlib
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.findings.wording.difference_messages import NOTHING_COMPILED, support_line
from exportlint.trial.findings.wording.finding_messages import stage_detail
from exportlint.trial.findings.wording.size_messages import sentences, shapes_text
from exportlint.trial.ladder.soundness_runs import compared_with_eager
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.operator_support import OperatorSupport
from exportlint.trial.protocol.outcomes import FAILED, NON_STRICT, PASSED, REFUSED, RUNNING, SKIPPED
from exportlint.trial.protocol.remedies import worth_trying
from exportlint.trial.protocol.result import Event, Guard, StageResult, TargetReport
from exportlint.trial.protocol.stages import (
    EAGER,
    GRAPH,
    LADDER,
    LOAD,
    READ_ELSEWHERE,
    SAME_BEHAVIOUR,
    SWAP,
    StageKind,
    lowering,
)
from exportlint.trial.protocol.target import TargetKind
from exportlint.trial.stop import Stop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from exportlint.trial.ladder.runner import Runner
    from exportlint.trial.protocol.options import LoweringOptions, TrialOptions
    from exportlint.trial.protocol.result import KeptModel
    from exportlint.trial.protocol.size_facts import ShapesFound
    from exportlint.trial.protocol.stages import Stage
    from exportlint.trial.protocol.target import Target


# These say whether the model exports; all else asks what the program is worth, or why there is none.
_FIRST = (StageKind.LOAD, StageKind.EAGER, StageKind.EXPORT)
_WHERE_SOMETHING_FAILED = (StageKind.DRAFT, StageKind.REFUSALS, StageKind.SEARCH, StageKind.REMEDIES)
# Made by a run, by a caller's process, by a library.
_LIVE = (TargetKind.SEEN, TargetKind.OBJECTS, TargetKind.ZOO)


@dataclass
class LadderRun:
    """One run of the ladder on one target.

    lowerings     name -> module of those that are asked for
    workers       how many stages may run at the same time
    stop          where somebody may ask to end the run: what is not done by then is skipped
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

    def report(self) -> TargetReport:
        """Run every stage that has something to do, and report what happened."""
        self._climb()
        if self.stop.reason:
            return self._report()
        if self.options.graph and self._modes(PASSED):
            self._describe_graph()
        kept = self._kept_model()
        return replace(self._report(), kept_model=kept)

    def _climb(self) -> None:
        """What loads and runs, then the exports, then side by side all that asks no more than what those gave."""
        stages = list(self.stages())
        pool = ThreadPoolExecutor(self.workers)
        try:
            for several in _in_steps(stages):
                for done in [pool.submit(self._do, stage) for stage in several]:
                    done.result()
        finally:  # after an interrupt nobody waits for the threads: their processes are ended
            pool.shutdown(wait=False, cancel_futures=True)
        self.results = {stage.name: self.results[stage.name] for stage in stages}

    def _do(self, stage: Stage) -> None:
        why = self.stop.reason or self.reason_to_skip(stage)
        result = skipped(stage, why) if why else self._run(stage)
        if self.stop.reason and not why:  # its process was ended; what it had sent counts
            sent = tuple(seen for seen in result.observations if "ended" not in seen.details)
            result = replace(skipped(stage, f"{self.stop.reason} meanwhile"), observations=sent)
        self._add(result)

    def stages(self) -> Iterator[Stage]:
        """The rows of the ladder, those of the chosen modes and lowerings only; of a quick run the first ones."""
        own = [stage for stage in LADDER if stage.mode in (None, *self.options.modes) and self._concerns(stage)]
        yield from (stage for stage in own if stage.kind in _FIRST or not self.options.quick)
        yield from [SAME_BEHAVIOUR] if self.options.behaviour else ()
        yield from map(lowering, self.lowerings)

    def _concerns(self, stage: Stage) -> bool:
        """Is the stage on the ladder of this target at all?"""
        if stage.kind is StageKind.TRACE:
            return "torch.jit.trace" in (self.target.given_to or "").split(", ")
        on_request = {SWAP: self.options.decompose, READ_ELSEWHERE: self.options.read_with}
        return bool(on_request.get(stage.name, True))

    def reason_to_skip(self, stage: Stage) -> str | None:
        """Why the stage has nothing to do after what happened so far; None where it runs."""
        if stage.kind is StageKind.LOAD:
            return None
        if not self.results[LOAD.name].passed:
            return "the target did not load"
        if stage.kind is StageKind.EAGER:
            return None
        eager = self.results[EAGER.name]
        if eager.status not in (PASSED, REFUSED):
            # It ended its process, or never came back; tracing it runs the same code.
            return f"eager {eager.status}"
        if stage.kind is StageKind.EXPORT:
            return None
        if not eager.passed and stage != SAME_BEHAVIOUR:  # which knows what torch's operators refuse in eager, too
            return "eager raised" if stage.kind is StageKind.INFORM else "eager raised: nothing to compare with"
        return self._reason_after_exports(stage)

    def _reason_after_exports(self, stage: Stage) -> str | None:
        passed, accepted = self._modes(PASSED), self._accepted()
        match stage.kind:
            case _ if stage.kind in _WHERE_SOMETHING_FAILED and len(passed) == len(self.options.modes):
                return "nothing failed"
            case StageKind.DRAFT if NON_STRICT in passed:
                return "draft_export is non-strict, and that passed"
            case StageKind.REFUSALS if not self._refused():
                return "nothing was refused"
            case StageKind.SEARCH | StageKind.REMEDIES if not self._refused():
                return "nothing was refused"
            case StageKind.SEARCH if not self._without_line():
                return "torch names the line of each refusal"
            case StageKind.COMPARE if not accepted and not self._may_tolerate_refusals():
                return "nothing was exported"
            case StageKind.FROM_PROGRAM if not passed:
                return "no export passed"
            case StageKind.SIZES:
                return self._reason_for_sizes()
        return None

    def _reason_for_sizes(self) -> str | None:
        """What was declared, in the program that is kept; else what could be, where somebody or other inputs ask."""
        given = self.results[LOAD.name].data
        if not self._modes(PASSED) and not self._violated():
            return "no export passed"
        if given.get("declared_shapes") or given.get("other_inputs") or self.options.dynamic == "auto":
            return None
        return "nothing is declared dynamic; `--dynamic auto` proposes what could be"

    def _run(self, stage: Stage) -> StageResult:
        self.on_event(Event(self.target.name, stage.name, RUNNING))
        match stage.kind:
            case StageKind.LOAD:
                return self.runner.load()
            case StageKind.EXPORT:
                return self.runner.export(stage)
            case StageKind.COMPARE:
                grad = {"grad": True} if self.options.grad else {}
                tolerant = self._may_tolerate_refusals()
                return compared_with_eager(
                    self.runner, stage, self._accepted(), self._own_files(), tolerant=tolerant, **grad
                )
            case StageKind.SIZES | StageKind.FROM_PROGRAM:
                return self._following(stage)
        return self.runner.fresh(stage, **self._options_of(stage))

    def _options_of(self, stage: Stage) -> dict[str, Any]:
        """What a stage that starts afresh is asked."""
        match stage.kind:
            case StageKind.INFORM:
                return {"cpu_seconds": self._enough(3)}
            case StageKind.REFUSALS:
                return {"modes": self._refused(), "cpu_seconds": self._enough(2 if self._modes(PASSED) else 8)}
            case StageKind.SEARCH:
                return {"modes": self._refused()}
            case StageKind.REMEDIES:
                return {"refused": self._remedies()}
            case StageKind.ON_REQUEST if self.options.behaviour:
                file = self.options.behaviour / f"{_key(self.target)}.pickle"
                keep, other_draws = not self.options.edited, self.options.other_draws
                return {"file": str(file), "keep": keep, "other_draws": other_draws}
        return {}

    def _following(self, stage: Stage) -> StageResult:
        """A stage that goes on from a program, which is that of the first mode that passed.

        Of 66 targets with sizes to try 31 exported in both modes, and in strict nothing was named that non-strict had
        not named (once less: strict traces `int()` of a size).
        """
        passed = self._modes(PASSED)
        if stage.kind is StageKind.SIZES:
            options = {"auto": self.options.dynamic == "auto", "refused": self._violated() and not passed}
            return self.runner.following(stage, mode=(passed or self.options.modes)[0], **options)
        return self.runner.following(stage, mode=passed[0], **self._asked_for(stage))

    def _asked_for(self, stage: Stage) -> dict[str, Any]:
        if stage.lowering:
            return {"lowering": self.lowerings[stage.lowering], **_of_lowering(stage.lowering, self.options.lowering)}
        asked: dict[str, dict[str, Any]] = {
            SWAP: {"decompose": self.options.decompose},
            # Another working directory awaits it, and a plain name would be looked for on PATH.
            READ_ELSEWHERE: {"python": str(self.options.read_with and self.options.read_with.absolute())},
        }
        return asked.get(stage.name, {})

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

    def _modes(self, status: str) -> list[str]:
        """The modes whose export ended so."""
        exports = ((stage.mode, self.results.get(stage.name)) for stage in LADDER if stage.mode)
        return [mode for mode, result in exports if mode and result and result.status == status]

    def _accepted(self) -> list[str]:
        """The modes in which torch gave a program, whatever that computes."""
        return [stage.mode for stage in LADDER if stage.mode and self._data(stage).get("exported")]

    def _refused(self) -> list[str]:
        return [mode for mode in self.options.modes if mode not in self._accepted()]

    def _enough(self, least: int) -> int:
        """Seconds of a processor for what goes on as long as it finds something: more where an export takes long."""
        exports = sum(self.results[stage.name].seconds for stage in LADDER if stage.mode and stage.name in self.results)
        return math.ceil(least + exports)

    def _remedies(self) -> dict[str, list[str]]:
        """For each mode that refuses, what may help."""
        exports = bool(self._accepted())
        refusals = {mode: self.results[f"export-{mode}"].observations for mode in self._refused()}
        return {mode: list(worth_trying(seen, exports=exports)) for mode, seen in refusals.items()}

    def _without_line(self) -> bool:
        """Did torch refuse the model without naming a line of it?"""
        exports = (self.results[stage.name] for stage in LADDER if stage.mode in self._refused())
        return any(not seen.user for result in exports for seen in result.observations if seen.kind == "exception")

    def _own_files(self) -> list[Path]:
        """The files of the project that eager ran."""
        ran = self._data(EAGER).get("executed", {})
        return [Path(path) for path in ran if is_user_path(path) and not is_installed(path)]

    def _may_tolerate_refusals(self) -> bool:
        """Can the error-tolerant export, which is non-strict, show what the refusals leave?"""
        return NON_STRICT in self._refused()

    def _violated(self) -> bool:
        """Did torch refuse what is declared of sizes?"""
        exports = (self.results[stage.name] for stage in LADDER if stage.mode and stage.name in self.results)
        return any("Constraints violated" in seen.text for result in exports for seen in result.observations)

    def _data(self, stage: Stage) -> Mapping[str, Any]:
        return self.results[stage.name].data if stage.name in self.results else {}

    def _describe_graph(self) -> None:
        """The program, to be shown; a stage of the ladder only where that failed."""
        result = self.runner.following(GRAPH, mode=self._modes(PASSED)[0])
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
        shapes = shapes_text(found) if found else data.get("declared_shapes")
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
        )


def _of_lowering(name: str, how: LoweringOptions) -> dict[str, Any]:
    """What the stage of a lowering is told beside its class; what is not asked for is not named."""
    told = {
        "settings": dict(how.settings.get(name, {})),
        "cache": how.cache and str(how.cache),
        "artifacts": how.kept and str(how.kept),
        "dry_run": how.dry_run,
        "operators": how.operators,
    }
    return {key: value for key, value in told.items() if value}


def _guards(found: ShapesFound) -> Iterator[Guard]:
    for text, place in sentences(found):
        yield Guard(text, place[0], place[1]) if place else Guard(text, None, None)


def _in_steps(stages: Sequence[Stage]) -> Iterator[list[Stage]]:
    """Each step's stages need only what the steps before gave."""
    yield from ([stage] for stage in stages if stage.kind in _FIRST and stage.kind is not StageKind.EXPORT)
    yield [stage for stage in stages if stage.kind is StageKind.EXPORT]
    yield [stage for stage in stages if stage.kind not in _FIRST]


def skipped(stage: Stage, why: str) -> StageResult:
    """The result of a stage that had nothing to do."""
    return StageResult(stage.name, SKIPPED, detail=why)


def _key(target: Target) -> str:
    """The same for the same target in every run of this process."""
    return hashlib.sha256(repr(target).encode()).hexdigest()[:16]
