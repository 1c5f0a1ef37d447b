"""Where something stands that torch names no line for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from exportlint.trial.findings.trial_finding import TRAINING_MODE
from exportlint.trial.protocol.stages import LOAD

if TYPE_CHECKING:
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import TargetReport

# Torch's words for what goes into a model and what comes out of it.
_ABOUT_INPUTS = re.compile(r"\b(?:example )?inputs?\b|argument", re.IGNORECASE)
_ABOUT_OUTPUTS = re.compile(r"\bin output\b|\bat output\b|outputs? of the traced|only support these types for outputs")


def place_of(seen: Observation, report: TargetReport) -> tuple[str | None, int | None]:
    """An input stands at forward's parameter, an output at its return, the mode of the model at the call that a script
    gives it to, all else at the class; where the code is not the project's own, all stands where the target does."""
    if seen.details.get("note") == TRAINING_MODE and report.target and report.target.given_to:
        return report.path, report.line
    load = report.stage(LOAD.name)
    places = load.data.get("places") if load else None
    if not places:
        return report.path, report.line
    name = seen.details.get("input")
    if name in places["parameters"]:
        return places["path"], places["parameters"][name]
    if _ABOUT_OUTPUTS.search(seen.text) and places["returns"]:
        return places["path"], places["returns"][0]
    return places["path"], places["forward" if _ABOUT_INPUTS.search(seen.text) else "class"]
