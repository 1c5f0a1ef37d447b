"""Word the dry run of a lowering: how much of a program its target takes, and what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.protocol.frames import from_here
from exportlint.trial.protocol.lowerings.operator_support import DELEGATED, FALLBACK, MISSING

if TYPE_CHECKING:
    from exportlint.trial.protocol.lowerings.operator_support import OperatorRow, OperatorSupport
    from exportlint.trial.protocol.observation import Observation


NOT_KNOWN = "the target cannot say before it compiles"
NOTHING_COMPILED = "nothing compiled: the same as in an earlier run"
_MOST_NAMES = 3


def support_line(support: OperatorSupport) -> str:
    """As in "97.2 % of 412 operators supported, 1 missing: aten.foo at model.py:31"; of a target that can say."""
    total, missing = support.total, support.of(MISSING)
    counted = "the one operator" if total == 1 else f"all {total} operators"
    head = f"{_share(total - support.count(MISSING), total)} % of {total} operators" if missing else counted
    parts = [f"{head} supported", *_further(support)]
    if missing:
        more = ", …" if len(missing) > _MOST_NAMES else ""
        parts.append(f"{len(missing)} missing: {', '.join(map(_at_its_line, missing[:_MOST_NAMES]))}{more}")
    return ", ".join(parts)


def _share(part: int, whole: int) -> str:
    """Rounded down, so that nothing short of all is 100 %."""
    return f"{part * 1000 // whole / 10:.1f}"


def _further(support: OperatorSupport) -> list[str]:
    """Who computes what is supported, where that is not the target's own kernels alone."""
    counts = ((support.count(DELEGATED), "delegated"), (support.count(FALLBACK), "by fallback"))
    return [f"{number} {how}" for number, how in counts if number]


def _at_its_line(row: OperatorRow) -> str:
    place = f" at {from_here(row.path)}:{row.line}" if row.path else ""
    return f"{row.name}{place}"


def missing_operator(seen: Observation) -> str:
    """Of an operator that the target lacks. `compiled`: did the trial go on to compile the program, and fail?"""
    details = seen.details
    often = f" ({details['count']} times)" if details["count"] > 1 else ""
    why = f": {details['reason']}" if details.get("reason") else ""
    tried = "" if details["compiled"] else ", says the dry run; it was not compiled"
    return f"`{details['operator']}`{often} is missing in the target{why}{tried}"
