"""What a proof of a lowering is given, and what it comes to: plain records."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    import torch

    from exportlint.lowering.arrays import TensorBytes
    from exportlint.lowering.backend import Lowering
    from exportlint.trial.child.lowering.comparing.input_calls import Expected, InputCall


@dataclass(frozen=True)
class Proved:
    """What a lowering came to.

    status        passed, refused, differs, crashed, timed-out, compiled or skipped
    detail        one line; None where the observation says it
    observations  what failed, at the line of the model that it is about; notes beside a pass
    data          JSON: "step" is the step that failed (compile, load, run, compare), "bytes" the size of the artefact,
                  "artefact" its path
    """

    status: str
    detail: str | None
    observations: tuple[Observation, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON data."""
        kept = {name: value for name, value in self.data.items() if name != "artefact"}
        seen = [one.to_dict() for one in self.observations]
        return {"status": self.status, "detail": self.detail, "observations": seen, "data": kept}

    @classmethod
    def from_dict(cls, raw: Mapping[str, Any]) -> Proved:
        """The other way."""
        seen = tuple(Observation.from_dict(one) for one in raw["observations"])
        return cls(raw["status"], raw["detail"], seen, raw["data"])


@dataclass(frozen=True)
class ProofSubject:
    """What is to be proved.

    name      where the lowering's class is: `module:Class`
    calls     the sample comes first
    folder    an empty folder for the artefact
    cache     a folder of earlier results; None: none are used or kept
    operators  say what becomes of every operator, even where finding out takes seconds
    seconds   so long may the fresh process take to load the artefact and to answer every call
    """

    name: str
    lowering: Lowering
    program: torch.export.ExportedProgram
    build_model: Callable[[], Any]
    calls: Sequence[InputCall]
    folder: Path
    cache: Path | None = None
    seconds: float = 120.0
    operators: bool = False


@dataclass(frozen=True)
class WrittenBuffer:
    """By its name in the model; the values of eager, before the first call and after the last one."""

    name: str
    before: TensorBytes
    after: TensorBytes


@dataclass(frozen=True)
class EagerReference:
    """What the artefact is held against.

    calls     those that eager and the exported program take
    eager     what eager gives for each
    exported  what the exported program gives
    steady    does eager give the same twice?
    written   of a target without state: the buffers whose values the calls changed
    """

    calls: list[InputCall]
    eager: list[Expected]
    exported: list[Expected]
    steady: bool
    written: tuple[WrittenBuffer, ...] = ()
