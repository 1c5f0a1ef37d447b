"""Torch's "Constraints violated" in sentences, at the lines that are to blame. Runs in the child."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from exportlint.trial.calls import inputs_of
from exportlint.trial.dynamic.declared import Broken, conditions, constants, narrowed, outside, unequal
from exportlint.trial.dynamic.inputs import leaves_of
from exportlint.trial.dynamic.partners import partners
from exportlint.trial.dynamic.reading import read
from exportlint.trial.observation import Observation, placed

if TYPE_CHECKING:
    from exportlint.trial.dynamic.recording import Recording
    from exportlint.trial.loading import Loaded


def is_violation(refusal: Observation) -> bool:
    """Did torch refuse what is declared of sizes?"""
    return "Constraints violated" in refusal.text or " not in range [" in refusal.text


def violations(loaded: Loaded, sizes: Recording, refusal: Observation) -> list[Observation]:
    """Torch's "Constraints violated", one for each line that is to blame; the refusal itself where none is known."""
    leaves = leaves_of(loaded.model(), inputs_of(loaded, 0), loaded.dynamic_shapes())
    trace = read(sizes, leaves)
    found = list(outside(leaves))
    if trace and not found:
        found = [
            *constants(trace, partners(loaded, trace)),
            *(broken for _, broken in narrowed(trace)),
            *unequal(trace),
            *conditions(trace),
        ]
    by_line: dict[tuple[str, int], list[Broken]] = defaultdict(list)
    for says, instead, frames in found:
        place = (frames[-1].path, frames[-1].line) if frames else ("", 0)
        by_line[place].append((says, instead, frames))
    return [_told(refusal, group) for group in by_line.values()] or [refusal]


def _told(refusal: Observation, group: list[Broken]) -> Observation:
    says = "; ".join(dict.fromkeys(said for said, _, _ in group))
    instead = "; ".join(dict.fromkeys(what for _, what, _ in group))
    details = {**refusal.details, "says": says, "instead": instead}
    return placed("exception", refusal.text, group[0][2], error_class=refusal.error_class, details=details)
