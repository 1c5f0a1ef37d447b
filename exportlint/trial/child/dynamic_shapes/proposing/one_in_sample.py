"""A sample with sizes of 1, of which torch makes constants, with larger ones in their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors
from exportlint.trial.child.dynamic_shapes.other_sizes import accepts, resized

if TYPE_CHECKING:
    from collections.abc import Collection

    from exportlint.trial.child.dynamic_shapes.declarations import DimPlace
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded


_GROWN = 3


def without_ones(loaded: Loaded, inputs: Inputs, free: Collection[DimPlace]) -> tuple[Inputs, list[DimPlace]]:
    """Where eager takes 3 instead of 1, that is exported: first dims together, then each dim alone."""
    model = loaded.model()
    ones = [
        (tensor.label, dim)
        for tensor in input_tensors(model, inputs)
        for dim, size in enumerate(tensor.value.shape)
        if size == 1 and (tensor.label, dim) in free
    ]
    if not ones:
        return inputs, []
    eager = loaded.eager()
    grown: list[DimPlace] = []
    groups = [[place for place in ones if place[1] == dim] for dim in sorted({dim for _, dim in ones})]
    for group in groups:
        for places in [group, *([place] for place in group if len(group) > 1)]:
            if not set(places) & set(grown):
                larger = resized(inputs, input_tensors(model, inputs), dict.fromkeys(places, _GROWN))
                if accepts(eager, larger):
                    inputs = larger
                    grown += places
    return inputs, grown
