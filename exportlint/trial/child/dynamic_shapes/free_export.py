"""Export with dims left free, in a time: many free sizes in one expression can keep torch's solver busy for hours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch.export import Dim

from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors, tree_of
from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace, read_trace
from exportlint.trial.child.execution.time_limit import in_time
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import dynamo, pytree
from exportlint.trial.child.torch_private.symbolic_shapes import recorded_decisions
from exportlint.trial.protocol.outcomes import STRICT

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from exportlint.trial.child.dynamic_shapes.input_tensors import DimPlace
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded


# Of this process's own work.
SECONDS = 30


def exported_with(loaded: Loaded, inputs: Inputs, shapes: Any, mode: str) -> Any:
    """A fresh model, exported with these inputs and this declaration."""
    dynamo.reset()
    model = loaded.model()
    args, kwargs = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, inputs)
    seed(0)
    return torch.export.export(model, args, kwargs or None, dynamic_shapes=shapes, strict=mode == STRICT)


def exported_free(
    loaded: Loaded, inputs: Inputs, mode: str, free: Collection[DimPlace]
) -> tuple[Any, SymbolicTrace | None]:
    """The program with just these dims free, and what the export found; what torch raises comes through."""
    model = loaded.model()
    shapes = tree_of(model, inputs, _give(free))
    with recorded_decisions() as decisions, in_time(SECONDS):
        program = exported_with(loaded, inputs, shapes, mode)
    return program, read_trace(decisions, input_tensors(model, inputs, shapes))


def traced(loaded: Loaded, inputs: Inputs, mode: str, free: Collection[DimPlace]) -> SymbolicTrace | None:
    """What an export with just these dims free finds; None where it is refused or comes to no end."""
    try:
        return exported_free(loaded, inputs, mode, free)[1]
    except BaseException:  # noqa: BLE001 - torch lets anything through
        return None


def _give(free: Collection[DimPlace]) -> Callable[[str, torch.Tensor], Any]:
    def give(label: str, tensor: torch.Tensor) -> Any:
        dims = {dim: Dim.AUTO for dim in range(tensor.dim()) if (label, dim) in free}
        return dims or None

    return give
