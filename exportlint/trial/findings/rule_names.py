"""Name the findings that no rule declares as its own: after the stage that found them, or for what they tell."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from exportlint.trial.protocol.stages import LADDER, LOWERINGS, NEVER_RAN, StageKind, lowering


@cache
def trial_rule_names() -> tuple[str, ...]:
    """Each name that a trial can give, lowerings of installed packages included."""
    stages = [stage for stage in LADDER if stage.kind is not StageKind.LOAD]
    lowerings = [lowering(point.name) for point in sorted(entry_points(group=LOWERINGS), key=lambda p: p.name)]
    return (*(stage.rule for stage in (*stages, *lowerings)), NEVER_RAN)
