"""Prove a lowering of a small model, as the stage does it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import with_other_values
from exportlint.trial.child.lowering.proof import prove
from exportlint.trial.child.lowering.proof_subject import AGAIN, OTHER_VALUES, SAMPLE, InputCall, ProofSubject, Proved

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from exportlint.lowering.backend import Lowering
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.protocol.observation import Observation


def proved(
    lowering: Lowering,
    build: Callable[[], Any],
    args: tuple[Any, ...],
    folder: Path,
    *,
    kwargs: dict[str, Any] | None = None,
    dynamic_shapes: Any = None,
    other_sizes: Inputs | None = None,
    seconds: float = 120.0,
) -> Proved:
    """The sample twice and other values, then other sizes if given."""

    def seeded() -> Any:
        torch.manual_seed(0)
        return build().eval()

    sample = (args, kwargs or {})
    program = torch.export.export(seeded(), *sample, dynamic_shapes=dynamic_shapes)
    given = {SAMPLE: sample, AGAIN: sample, OTHER_VALUES: with_other_values(sample, 1), "other sizes": other_sizes}
    calls = [InputCall(which, inputs) for which, inputs in given.items() if inputs]
    (folder / "artefact").mkdir()
    name = f"{type(lowering).__module__}:{type(lowering).__name__}"
    return prove(ProofSubject(name, lowering, program, seeded, calls, folder / "artefact", None, seconds))


def the_one(result: Proved, status: str) -> Observation:
    """What it saw, which must be one thing, and end like that."""
    assert result.status == status, result
    (seen,) = result.observations
    return seen


def line(seen: Observation) -> str | None:
    """The source that it stands at."""
    return seen.user.text if seen.user else None
