"""Static dims that must equal a dim declared dynamic, which they make a constant; known once they too may move.

Runs in the child.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.calls import inputs_of
from exportlint.trial.dynamic.declared import Partners, Place, asked_sizes
from exportlint.trial.dynamic.proposing import traced

if TYPE_CHECKING:
    from exportlint.trial.dynamic.reading import Size, Trace
    from exportlint.trial.loading import Loaded


def partners(loaded: Loaded, trace: Trace) -> Partners:
    """Declared dim that became a constant -> the undeclared dims that equal it where all of them may move."""
    asked = {_place(size): size for size, _ in asked_sizes(trace)}
    fixed = [size for size in asked.values() if size.fixed and size.symbol is not None]
    samples = {size.sample for size in fixed}
    others = [size for size in trace.sizes if _place(size) not in asked and size.sample in samples]
    free = traced(loaded, inputs_of(loaded, 0), "non-strict", {*asked, *map(_place, others)}) if others else None
    if free is None:
        return {}
    forms = {_place(size): size.form for size in free.sizes if not size.fixed}
    static = [_place(size) for size in others if _place(size) in forms]
    found = {place: [p for p in static if forms[p] == forms[place]] for place in map(_place, fixed) if place in forms}
    return {place: equal for place, equal in found.items() if equal}


def _place(size: Size) -> Place:
    return size.leaf.label, size.dim
