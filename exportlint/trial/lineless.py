"""Refusals whose line does not help, or not alone: of a class that torch cannot flatten, of declared sizes, and of a
number that was read from data elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.trial.births import placed_at_birth
from exportlint.trial.dynamic.violations import is_violation, violations

if TYPE_CHECKING:
    from exportlint.trial.dynamic.recording import Recording
    from exportlint.trial.observation import Observation
    from exportlint.trial.stage import Request


def placed_refusal(request: Request, seen: Observation, sizes: Recording) -> list[Observation]:
    """The refusal at the line that builds the object, or at each line that narrows a declared dimension; with the line
    that read the number which torch does not know."""
    if is_violation(seen):
        return violations(request.loaded, sizes, seen)
    return [_with_source(placed_at_birth(request, seen), sizes)]


_UNKNOWN = re.compile(r"data-dependent expression (?P<expr>.+?) \(unhinted")
_SYMBOL = re.compile(r"\bz?uf?\d+\b")


def _with_source(seen: Observation, sizes: Recording) -> Observation:
    """Torch names the line that uses the number; what reads it may stand in another function."""
    found = _UNKNOWN.search(seen.text)
    for symbol in _SYMBOL.findall(found["expr"]) if found else ():
        frames = sizes.born.get(symbol)
        if frames and (frames[-1].path, frames[-1].line) != (seen.user_path, seen.user_line):
            read = {"symbol": symbol, "path": frames[-1].path, "line": frames[-1].line, "text": frames[-1].text}
            return replace(seen, details={**seen.details, "read": read})
    return seen
