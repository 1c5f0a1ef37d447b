"""Find static dims that must equal a dim declared dynamic, which they make a constant."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.dynamic_shapes.declarations import EqualDims, asked_sizes
from exportlint.trial.child.dynamic_shapes.proposing.free_export import traced
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.protocol.outcomes import NON_STRICT

if TYPE_CHECKING:
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace
    from exportlint.trial.child.loading.loaded import Loaded


def static_equals(loaded: Loaded, trace: SymbolicTrace) -> EqualDims:
    """Declared dim that became a constant -> the undeclared dims that equal it where all of them may move."""
    asked = {size.place: size for size, _ in asked_sizes(trace)}
    fixed = [size for size in asked.values() if size.fixed and size.symbol is not None]
    samples = {size.sample for size in fixed}
    others = [size for size in trace.sizes if size.place not in asked and size.sample in samples]
    free = (
        traced(loaded, inputs_of(loaded, 0), NON_STRICT, {*asked, *(size.place for size in others)}) if others else None
    )
    if free is None:
        return {}
    forms = {size.place: size.form for size in free.sizes if not size.fixed}
    static = [size.place for size in others if size.place in forms]
    found = {
        place: [p for p in static if forms[p] == forms[place]]
        for place in (size.place for size in fixed)
        if place in forms
    }
    return {place: equal for place, equal in found.items() if equal}
