"""Two sweeps side by side: of two torch releases, two versions of a library, or two commits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.sweep.result import SweptOutcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from exportlint.sweep.store import Row, Sweep

# Times of a busy machine differ by half without any reason, and short ones by more.
SLOWER, SLOWER_BY_SECONDS = 1.5, 5.0
# Of these nothing is known about the export, so that no change can be told.
_UNKNOWN = (None, SweptOutcome.NOT_TRIED)


@dataclass(frozen=True, slots=True)
class Change:
    """A target in both sweeps. `why`: of the one of both that is no export, what torch said."""

    target: str
    before: Row
    after: Row

    @property
    def why(self) -> str:
        return self.after.detail or self.before.detail


@dataclass(frozen=True, slots=True)
class Comparison:
    """What changed from one sweep to another.

    began_to_fail      exported, and does so no more; loud
    became_different   exports now, and computes something else; silent
    healed             exports now, and agrees where the sweep compared with eager
    otherwise          fails in both, in another way
    slower             with the same outcome, by half and some seconds at the least
    same               how many targets have the same outcome
    unknown            targets of both of which one was not tried
    only_before, only_after  targets that one of the sweeps does not have
    """

    before: Sweep
    after: Sweep
    began_to_fail: Sequence[Change]
    became_different: Sequence[Change]
    healed: Sequence[Change]
    otherwise: Sequence[Change]
    slower: Sequence[Change]
    same: int
    unknown: Sequence[str]
    only_before: Sequence[str]
    only_after: Sequence[str]


def compared(before: Sweep, after: Sweep, first: Iterable[Row], second: Iterable[Row]) -> Comparison:
    """Compare the targets of two sweeps by their names."""
    one, two = ({row.target: row for row in rows} for rows in (first, second))
    both = [Change(name, one[name], two[name]) for name in sorted(one.keys() & two.keys())]
    known = [each for each in both if not {each.before.outcome, each.after.outcome} & {*_UNKNOWN}]
    changed = [each for each in known if each.before.outcome is not each.after.outcome]
    exports, differs = SweptOutcome.EXPORTS, SweptOutcome.DIFFERS
    different = [each for each in changed if each.after.outcome is differs]
    healed = [each for each in changed if each.after.outcome is exports]
    failing = [each for each in changed if each.before.outcome is exports and each.after.outcome is not differs]
    told = {each.target for each in (*different, *healed, *failing)}
    return Comparison(
        before,
        after,
        began_to_fail=failing,
        became_different=different,
        healed=healed,
        otherwise=[each for each in changed if each.target not in told],
        slower=[each for each in known if each not in changed and _is_slower(each)],
        same=len(known) - len(changed),
        unknown=[each.target for each in both if each not in known],
        only_before=sorted(one.keys() - two.keys()),
        only_after=sorted(two.keys() - one.keys()),
    )


def _is_slower(each: Change) -> bool:
    longer = each.after.seconds - each.before.seconds
    return longer >= SLOWER_BY_SECONDS and each.after.seconds >= SLOWER * each.before.seconds
