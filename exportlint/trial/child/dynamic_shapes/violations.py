"""Place torch's "Constraints violated": which declarations do not hold, and the lines that break them."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.trial.child.dynamic_shapes.declarations import (
    BrokenDeclaration,
    conditions,
    constants,
    narrowed,
    outside,
    unequal,
)
from exportlint.trial.child.dynamic_shapes.equal_dims import static_equals
from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors
from exportlint.trial.child.dynamic_shapes.symbolic_trace import read_trace
from exportlint.trial.child.execution.inputs.input_sets import inputs_of

if TYPE_CHECKING:
    from exportlint.trial.child.dynamic_shapes.shape_decisions import ShapeDecisions
    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.observation import Observation


def is_violation(refusal: Observation) -> bool:
    """Did torch refuse what is declared of sizes?"""
    return "Constraints violated" in refusal.text or " not in range [" in refusal.text


def violations(loaded: Loaded, decisions: ShapeDecisions, refusal: Observation) -> list[Observation]:
    """The refusal once for each line that breaks a declaration, with the facts; as it is where none is known."""
    tensors = input_tensors(loaded.model(), inputs_of(loaded, 0), loaded.dynamic_shapes())
    trace = read_trace(decisions, tensors)
    found = list(outside(tensors))
    if trace and not found:
        found = [
            *constants(trace, static_equals(loaded, trace)),
            *(broken for _, broken in narrowed(trace)),
            *unequal(trace),
            *conditions(trace),
        ]
    by_line: dict[tuple[str, int], list[BrokenDeclaration]] = defaultdict(list)
    for broken in found:
        last = broken.frames[-1] if broken.frames else None
        by_line[(last.path, last.line) if last else ("", 0)].append(broken)
    return [_at_line(refusal, group) for group in by_line.values()] or [refusal]


def _at_line(refusal: Observation, group: list[BrokenDeclaration]) -> Observation:
    plain = replace(refusal, gb_id=None).with_details(sizes=[broken.fact for broken in group])
    return plain.at(group[0].frames)
