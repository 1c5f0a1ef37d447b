"""What a trial found out, as the parent holds it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from exportlint.trial.protocol.compilation import NOT_COMPILED, CompilationReport
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.stages import DYNAMIC_SHAPES, LADDER, SOUNDNESS, Stage, stage_named
from exportlint.trial.protocol.syntax_tree import syntax_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.target import Target


@dataclass(frozen=True, slots=True)
class Event:
    """Progress: a stage of a target began (`status` is "running") or ended."""

    target: str
    stage: str
    status: str
    seconds: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StageResult:
    """One stage of one target.

    status       one of passed, compiled, refused, differs, crashed, timed-out, skipped
    detail       one line; None until the ladder has worded it
    error_class  dotted, of what was raised, where the detail is about that
    data         what the stage reports for the stages and reports that follow
    repros       scripts that were written and fail in the same way
    support      of a lowering: one line on the operators that its target takes
    artifact     the folder that the artefact was kept in
    """

    name: str
    status: str
    seconds: float = 0.0
    detail: str | None = ""
    observations: tuple[Observation, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    repros: tuple[str, ...] = ()
    error_class: str | None = None
    support: str = ""
    artifact: str = ""

    @property
    def passed(self) -> bool:
        return self.status == PASSED

    @property
    def full_detail(self) -> str:
        """One line of at most 200 characters, which begins with the class of what was raised."""
        detail = self.detail or ""
        return short(f"{self.error_class}: {detail}") if self.error_class else detail

    @property
    def brief_detail(self) -> str:
        """The same without the modules of the class."""
        bare = (self.error_class or "").rpartition(".")[2]
        return f"{bare}: {self.detail}" if bare else self.detail or ""

    @property
    def row(self) -> Stage:
        """The stage's row in the table of stages."""
        return stage_named(self.name)


@dataclass(frozen=True, slots=True)
class KeptModel:
    """A model and its inputs in a file that torch.load reads; without one, `why`. `search`: where from it imports."""

    file: Path | None = None
    search: tuple[str, ...] = ()
    why: str = ""


class Guard(NamedTuple):
    """What a program demands of its inputs, as a sentence, and the line that made it so."""

    text: str
    path: str | None
    line: int | None


@dataclass(frozen=True, slots=True)
class TargetReport:
    """The stages of one target, and what was found out beside them.

    broken     a sentence, where the target could not be tried at all: the tool failed, not the model
    executed   the lines that eager ran, by absolute path
    called     those of them that ran inside of the model's calls, not while it or its inputs were made, and
               those that calls with other sizes ran; of functions that torch.compile had rewritten, all
    called_in_packages  as `called`, of installed packages
    guards     what of `dynamic_shapes` is no code
    compilation  what torch.compile does with it
    """

    name: str
    path: str | None
    line: int | None
    stages: tuple[StageResult, ...]
    executed: Mapping[str, frozenset[int]]
    dynamic_shapes: str | None = None
    guards: tuple[Guard, ...] = ()
    broken: str | None = None
    torch: str | None = None
    target: Target | None = None
    graph: Mapping[str, Any] | None = None
    kept_model: KeptModel | None = None
    called: Mapping[str, frozenset[int]] = field(default_factory=dict)
    called_in_packages: Mapping[str, frozenset[int]] = field(default_factory=dict)
    compilation: CompilationReport = NOT_COMPILED

    @property
    def command_line(self) -> str:
        """What `exportlint trial` is given to try the target again; "" when the target is not known."""
        return self.target.command_line if self.target else ""

    def ran(self, path: str, lines: range) -> bool:
        """Did eager run one of these lines of a file? A handler that nothing was raised for is reached by what it
        guards: tracing raises there what eager does not."""
        here = _resolved(path)
        ran = frozenset[int]().union(*(some for one, some in self.executed.items() if _resolved(one) == here))
        guarded = (inside for line in lines for inside in guarded_lines(path, line)) if ran else ()
        return any(line in ran for line in (*lines, *guarded))

    @property
    def exported(self) -> frozenset[str]:
        """The modes in which torch gave a program, whatever that computes."""
        rows = ((stage.row.mode, stage.data.get("exported") or stage.passed) for stage in self.stages)
        return frozenset(mode for mode, gave in rows if mode and gave)

    def agrees(self, mode: str, *, beside_sizes: bool = False) -> bool:
        """Did the target export in this mode, and did soundness compare it with eager and find nothing?

        `beside_sizes`: what only other sizes than the sample's show does not count.
        """
        export, soundness = (self.of(lambda row: row.mode == mode), self.stage(SOUNDNESS.name))
        if export is None or not export.passed or soundness is None or soundness.status not in (PASSED, DIFFERS):
            return False
        # Sizes are tried in one mode only; where they differ, nothing is known of the other.
        sizes = self.stage(DYNAMIC_SHAPES.name)
        if not beside_sizes and sizes is not None and any(seen.kind == "difference" for seen in sizes.observations):
            return False
        return not any(
            (
                seen.kind == "difference"
                and seen.details.get("mode") == mode
                and not (beside_sizes and seen.is_about_a_size)
            )
            or seen.details.get("note") == "eager-unstable"
            for seen in soundness.observations
        )

    def of(self, wanted: Callable[[Stage], bool]) -> StageResult | None:
        """The first stage of the ladder whose row is wanted, if it was there."""
        return next((self.stage(row.name) for row in LADDER if wanted(row)), None)

    def shown(self, mode: str) -> frozenset[str]:
        """What this trial of a mode would have shown: the kinds of `exportlint.trial.protocol.shown_by` that ran."""
        kinds: set[str] = set()
        for stage in self.stages:
            kinds.update(stage.data.get("shown", {}).get(mode, ()))
            if stage.passed:
                kinds.update(stage.row.shows if stage.row.mode in (None, mode) else ())
        return frozenset(kinds)

    @property
    def repeated(self) -> Mapping[str, frozenset[int]]:
        """The lines that eager ran another number of times with other sizes, with which the program agreed."""
        found: dict[str, frozenset[int]] = {}
        for stage in self.stages:
            found |= {path: frozenset(lines) for path, lines in stage.data.get("repeated", {}).items()}
        return found

    def stage(self, name: str) -> StageResult | None:
        """The stage of that name, if it was on the ladder."""
        return next((stage for stage in self.stages if stage.name == name), None)


def guarded_lines(path: str, line: int) -> range:
    """The lines of the `try` whose handler stands at this line."""
    return _guarded(path).get(line, range(0))


@cache
def _resolved(path: str) -> str:
    return str(Path(path).resolve())


@cache
def _guarded(path: str) -> dict[int, range]:
    try:
        tree = syntax_tree(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return {}
    tries = [node for node in ast.walk(tree) if isinstance(node, ast.Try)]
    return {
        handler.lineno: range(node.body[0].lineno, (node.body[-1].end_lineno or node.body[-1].lineno) + 1)
        for node in tries
        for handler in node.handlers
    }
