"""Find the line that a refusal belongs to, where torch names none or one that does not help alone.

That is so for a class that torch cannot flatten, for declared sizes, and for a number that another line read from data.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from exportlint.trial.child.dynamic_shapes.violations import is_violation, violations
from exportlint.trial.child.localize.construction_site import at_construction

if TYPE_CHECKING:
    from exportlint.trial.child.dynamic_shapes.shape_decisions import ShapeDecisions
    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.protocol.observation import Observation


def located_refusal(request: StageRequest, seen: Observation, decisions: ShapeDecisions) -> list[Observation]:
    """The refusal at the line that builds the object, or once at each line that breaks a declaration.

    With it the line that read the number which torch does not know.
    """
    if is_violation(seen):
        return violations(request.loaded, decisions, seen)
    return [_with_reading_line(at_construction(request, seen), decisions)]


_UNKNOWN = re.compile(r"data-dependent expression (?P<expr>.+?) \(unhinted")
_SYMBOL = re.compile(r"\bz?uf?\d+\b")


def _with_reading_line(seen: Observation, decisions: ShapeDecisions) -> Observation:
    """Torch names the line that uses the number; what reads it may stand in another function."""
    found = _UNKNOWN.search(seen.text)
    for symbol in _SYMBOL.findall(found["expr"]) if found else ():
        frames = decisions.read_at.get(symbol)
        if frames and (frames[-1].path, frames[-1].line) != (seen.user_path, seen.user_line):
            last = frames[-1]
            return seen.with_details(read={"symbol": symbol, "path": last.path, "line": last.line, "text": last.text})
    return seen
