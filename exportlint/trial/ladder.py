"""One target's climb: which stage follows which, and what is skipped because of what.

The first export that passes is held: decomposing, saving and lowering go on from its program, and need no other export.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.observation import Observation, placed
from exportlint.trial.report import Event, StageResult, TargetReport, TrialOptions
from exportlint.trial.stacks import last_stack

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.limits import Limits
    from exportlint.trial.server import Answered, Server, TargetProcess
    from exportlint.trial.target import Target


@dataclass
class Climb:
    """Everything tried on one target."""

    server: Server
    target: Target
    options: TrialOptions
    lowerings: Mapping[str, str]
    on_event: Callable[[Event], None]
    stages: list[StageResult] = field(default_factory=list)
    broken: str | None = None
    graph: Mapping[str, Any] | None = None
    _process: TargetProcess | None = None
    _held: TargetProcess | None = None

    def report(self) -> TargetReport:
        """Climb, and say what happened."""
        try:
            self._process = self.server.target_process(self.target.name)
            for stage in self._ladder():
                self.stages.append(stage)
                self.on_event(Event(self.target.name, stage.name, stage.status, stage.seconds, stage.detail))
        finally:
            for process in (self._held, self._process):
                if process is not None:
                    process.close()
        return self._report()

    def _ladder(self) -> Iterator[StageResult]:
        load = self._load()
        yield load
        if not load.passed:
            yield from self._skip(self._names(), "the target did not load")
            return
        eager = self._try("eager", "eager")
        yield eager
        if eager.status not in ("passed", "refused"):
            # It ended its process, or never came back; tracing it runs the same code.
            yield from self._skip(self._names()[1:], f"eager {eager.status}")
            return
        yield from self._skip(["explain"], "eager raised") if not eager.passed else [self._try("explain", "explain")]
        exports = [self._export(f"export-{mode}") for mode in self.options.modes]
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
            yield self._try("draft", "draft")
            yield from self._further(refused=[mode for mode in self.options.modes if mode not in accepted])
        onward = "non-strict" in self.options.modes and "non-strict" not in accepted
        if accepted or onward:
            yield self._try("soundness", "soundness", modes=accepted, onward=onward)
        else:
            yield from self._skip(["soundness"], "nothing was exported")
        yield from self._dynamic_shapes(exports, passed)
        for name, (module, options) in self._from_program(passed).items():
            if passed:
                yield self._follow(name, module, **options)
            else:
                yield from self._skip([name], "no export passed")
        if self.options.graph and passed:
            yield from self._described(passed[0])

    def _described(self, mode: str) -> Iterator[StageResult]:
        """The program, to be shown; a stage of the ladder only where that failed."""
        result = self._follow("graph", "graph", mode=mode)
        self.graph = result.data.get("graph")
        if not result.passed:
            yield result

    def _dynamic_shapes(self, exports: list[StageResult], passed: list[str]) -> Iterator[StageResult]:
        """What was declared, in the program that is held; else what could be, where somebody or other inputs ask."""
        given = self.stages[0].data
        declared = given.get("dynamic_shapes") or given.get("other_inputs")
        violated = any("Constraints violated" in seen.text for stage in exports for seen in stage.observations)
        auto = self.options.dynamic == "auto"
        options = {"mode": (passed or self.options.modes)[0], "auto": auto, "refused": violated and not passed}
        if not passed and not violated:
            yield from self._skip(["dynamic-shapes"], "no export passed")
        elif declared or auto:
            yield self._follow("dynamic-shapes", "dynamic_shapes", **options)
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
            yield self._try("further", "further", modes=refused)
            yield self._try("submodules", "submodules", mode=refused[0])
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

    def _load(self) -> StageResult:
        self.on_event(Event(self.target.name, "load", "running"))
        process = self._running()
        imported = process.load(self.target, [os.getcwd(), *self.target.search], self._limits())  # noqa: PTH109 - sys.path wants text
        reply = next((m for m in imported.messages if "loaded" in m or "error" in m), None)
        if reply is None:
            result = _died("load", imported)
            self.broken = f"target {self.target.name}: importing it: {result.detail}"
            return result
        if "error" in reply:
            self.broken = reply["error"]
            seen = Observation.from_dict(reply["observation"])
            return StageResult("load", "refused", imported.seconds, _line(reply["error"]), (seen,))
        made = self._try("load", "load")
        if not made.passed:
            self.broken = made.data.get("broken") or f"target {self.target.name}: {made.detail}"
        given_to = f", given to {self.target.given_to}" if self.target.given_to and made.passed else ""
        return replace(made, seconds=made.seconds + imported.seconds, detail=made.detail + given_to)

    def _try(self, name: str, module: str, **options: Any) -> StageResult:
        if name != "load":
            self.on_event(Event(self.target.name, name, "running"))
        try:
            answered = self._running().stage(name, module, options, self._limits())
        except (EOFError, OSError):
            return StageResult(name, "crashed", detail="the target's process is gone")
        return result_of(name, answered)

    def _export(self, name: str) -> StageResult:
        if self._held is not None:
            return self._try(name, "export")
        self.on_event(Event(self.target.name, name, "running"))
        try:
            answered, process = self._running().held(name, "export", {}, self._limits())
        except (EOFError, OSError):
            return StageResult(name, "crashed", detail="the target's process is gone")
        result = result_of(name, answered)
        if result.passed:
            self._held = process
        else:
            process.close()
        return result

    def _follow(self, name: str, module: str, **options: Any) -> StageResult:
        """A stage that finds the program of the held export; where that process is gone, it exports anew."""
        self.on_event(Event(self.target.name, name, "running"))
        for process in (self._held, self._process):
            if process is not None:
                with contextlib.suppress(EOFError, OSError):
                    return result_of(name, process.stage(name, module, options, self._limits()))
        return StageResult(name, "crashed", detail="the target's process is gone")

    def _limits(self) -> Limits:
        from exportlint.trial.limits import Limits  # noqa: PLC0415 - psutil comes with the extra; `session` asks for it

        return Limits(self.options.timeout, self.options.memory_mb)

    def _running(self) -> TargetProcess:
        if self._process is None:
            raise EOFError
        return self._process

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
            self.broken,
            self.server.facts["torch"],
            self.target,
            self.graph,
        )


def result_of(name: str, answered: Answered) -> StageResult:
    """What a stage's process told, or how it ended without telling."""
    final = answered.final
    if final is None:
        return _died(name, answered)
    data = dict(final.get("data") or {})
    data |= {k: v for message in answered.messages if "exported" in message for k, v in message.items()}
    seen, detail = answered.observations, final["detail"]
    if final["status"] == "crashed" and not any(one.kind == "exception" for one in seen):
        ended = _ending(detail, "crashed", answered)
        seen, detail = (*seen, ended), detail + _where(ended)
    return StageResult(name, final["status"], answered.seconds, detail, seen, data)


def _died(name: str, answered: Answered) -> StageResult:
    """Crashed or timed out, at the line that the process's last stack names."""
    status = answered.overrun.status if answered.overrun else "crashed"
    text = answered.overrun.text if answered.overrun else answered.ended
    seen = _ending(text, status, answered)
    data = {k: v for message in answered.messages if "exported" in message for k, v in message.items()}
    return StageResult(name, status, answered.seconds, _line(text + _where(seen)), (*answered.observations, seen), data)


def _ending(text: str, status: str, answered: Answered) -> Observation:
    details = {"ended": status, "output": answered.output[-2000:]}
    return placed("exception", text, last_stack(answered.stack), error_class=None, details=details)


def _where(seen: Observation) -> str:
    return f" at {Path(seen.user_path).name}:{seen.user_line}" if seen.user_path else ""


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
