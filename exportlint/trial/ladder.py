"""One target's climb: which stage follows which, and what is skipped because of what."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.processes import Processes
from exportlint.trial.report import FAILED, Event, Parts, StageResult, TargetReport, TrialOptions
from exportlint.trial.target import TargetKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.server import Server
    from exportlint.trial.target import Target

# Made by a run, by a caller's process, by a library.
_LIVE = (TargetKind.SEEN, TargetKind.OBJECTS, TargetKind.ZOO)


@dataclass
class Climb:
    """Everything tried on one target."""

    server: Server
    target: Target
    options: TrialOptions
    lowerings: Mapping[str, str]
    on_event: Callable[[Event], None]
    stages: list[StageResult] = field(default_factory=list)
    graph: Mapping[str, Any] | None = None
    processes: Processes = field(init=False)

    def __post_init__(self) -> None:
        self.processes = Processes(self.server, self.target, self.options, self.on_event)

    def report(self) -> TargetReport:
        """Climb, and say what happened."""
        try:
            for stage in self._ladder():
                self.stages.append(stage)
                self.on_event(Event(self.target.name, stage.name, stage.status, stage.seconds, stage.detail))
            parts = self._kept_parts()
        finally:
            self.processes.close()
        return replace(self._report(), parts=parts)

    def _ladder(self) -> Iterator[StageResult]:
        load = self.processes.load()
        yield load
        if not load.passed:
            yield from self._skip(self._names(), "the target did not load")
            return
        eager = self.processes.stage("eager", "eager")
        yield eager
        if eager.status not in ("passed", "refused"):
            # It ended its process, or never came back; tracing it runs the same code.
            yield from self._skip(self._names()[1:], f"eager {eager.status}")
            return
        if eager.passed:
            yield self.processes.stage("explain", "explain")
        else:
            yield from self._skip(["explain"], "eager raised")
        exports = [self.processes.export(f"export-{mode}") for mode in self.options.modes]
        yield from exports
        if eager.passed:
            yield from self._after_exports(exports)
        else:
            rest = self._names()[self._names().index("draft") :]
            yield from self._skip(rest, "eager raised: nothing to compare with")

    def _after_exports(self, exports: list[StageResult]) -> Iterator[StageResult]:
        accepted = [stage.name.removeprefix("export-") for stage in exports if stage.data.get("exported")]
        passed = [stage.name.removeprefix("export-") for stage in exports if stage.passed]
        if len(passed) == len(exports):
            yield from self._skip(["draft", "further", "submodules"], "nothing failed")
        else:
            yield self.processes.stage("draft", "draft")
            yield from self._further(refused=[mode for mode in self.options.modes if mode not in accepted])
        onward = "non-strict" in self.options.modes and "non-strict" not in accepted
        if accepted or onward:
            yield self.processes.stage("soundness", "soundness", modes=accepted, onward=onward)
        else:
            yield from self._skip(["soundness"], "nothing was exported")
        yield from self._dynamic_shapes(exports, passed)
        for name, (module, options) in self._from_program(passed).items():
            if passed:
                yield self.processes.following(name, module, **options)
            else:
                yield from self._skip([name], "no export passed")
        if self.options.graph and passed:
            yield from self._described(passed[0])

    def _described(self, mode: str) -> Iterator[StageResult]:
        """The program, to be shown; a stage of the ladder only where that failed."""
        result = self.processes.following("graph", "graph", mode=mode)
        self.graph = result.data.get("graph")
        if not result.passed:
            yield result

    def _kept_parts(self) -> Parts | None:
        """Of a failure that is to be shown without a trial, the model and inputs that no code names."""
        is_named = self.target.kind not in _LIVE or self.stages[0].data.get("code")
        failed = self.stages[0].passed and any(stage.status in FAILED for stage in self.stages)
        return self.processes.parts(self.options.parts) if self.options.parts and failed and not is_named else None

    def _dynamic_shapes(self, exports: list[StageResult], passed: list[str]) -> Iterator[StageResult]:
        """What was declared, in the program that is held; else what could be, where somebody or other inputs ask."""
        # In the first mode that passed only: of 66 targets with such sizes 31 exported in both modes, and in strict
        # the stage named nothing that non-strict had not (once it named less: strict traces `int()` of a size).
        given = self.stages[0].data
        declared = given.get("dynamic_shapes") or given.get("other_inputs")
        violated = any("Constraints violated" in seen.text for stage in exports for seen in stage.observations)
        auto = self.options.dynamic == "auto"
        options = {"mode": (passed or self.options.modes)[0], "auto": auto, "refused": violated and not passed}
        if not passed and not violated:
            yield from self._skip(["dynamic-shapes"], "no export passed")
        elif declared or auto:
            yield self.processes.following("dynamic-shapes", "dynamic_shapes", **options)
        else:
            why = "nothing is declared dynamic; `--dynamic auto` proposes what could be"
            yield from self._skip(["dynamic-shapes"], why)

    def _from_program(self, passed: list[str]) -> dict[str, tuple[str, dict[str, Any]]]:
        """The stages that go on from an exported program: name -> module and options."""
        mode = passed[0] if passed else ""
        stages: dict[str, tuple[str, dict[str, Any]]] = {
            name: (name.replace("-", "_"), {"mode": mode}) for name in ("decompose", "save-load")
        }
        lower = {f"lower-{name}": ("lower", {"lowering": lowering}) for name, lowering in self.lowerings.items()}
        return stages | {name: (module, {**options, "mode": mode}) for name, (module, options) in lower.items()}

    def _further(self, refused: list[str]) -> Iterator[StageResult]:
        if refused:
            yield self.processes.stage("further", "further", modes=refused)
            yield self.processes.stage("submodules", "submodules", mode=refused[0])
        else:
            yield from self._skip(["further", "submodules"], "nothing was refused")

    def _names(self) -> list[str]:
        exports = [f"export-{mode}" for mode in self.options.modes]
        return [
            "eager",
            "explain",
            *exports,
            "draft",
            "further",
            "submodules",
            "soundness",
            "dynamic-shapes",
            *self._from_program([]),
        ]

    def _skip(self, names: list[str], why: str) -> Iterator[StageResult]:
        for name in names:
            yield StageResult(name, "skipped", detail=why)

    def _report(self) -> TargetReport:
        data: dict[str, Any] = {}
        for stage in self.stages:
            data |= stage.data
        executed = {path: frozenset(lines) for path, lines in data.get("executed", {}).items()}
        return TargetReport(
            self.target.name,
            self.target.path,
            self.target.line,
            tuple(self.stages),
            executed,
            data.get("dynamic_shapes"),
            self.processes.broken,
            self.server.facts["torch"],
            self.target,
            self.graph,
        )
