"""Refusals that come without the line that helps: of a class that torch cannot flatten, and of declared sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.births import placed_at_birth
from exportlint.trial.dynamic.violations import is_violation, violations

if TYPE_CHECKING:
    from exportlint.trial.dynamic.recording import Recording
    from exportlint.trial.observation import Observation
    from exportlint.trial.stage import Request


def placed_refusal(request: Request, seen: Observation, sizes: Recording) -> list[Observation]:
    """The refusal at the line that builds the object, or at each line that narrows a declared dimension."""
    return violations(request.loaded, sizes, seen) if is_violation(seen) else [placed_at_birth(request, seen)]
