"""Mend a script whose run raises before it hands anything to torch, until it does, or comes to its end.

There is nothing yet to compare: the run of the unedited script gave no result. So no more is shown of such a rewrite
than that the run gets on with it, and that is told beside it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Protocol, TypeVar

from exportlint.edited_source import OverlappingEditsError
from exportlint.repair.edition import RAN
from exportlint.repair.improvement import Attempted
from exportlint.repair.proposals import Proposals
from exportlint.repair.wellformed import what_is_broken
from exportlint.trial.protocol.outcomes import PASSED
from exportlint.trial.protocol.stages import SCRIPT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.repair.edition import Edition
    from exportlint.trial.protocol.result import StageResult, TargetReport

T = TypeVar("T", bound=Attempted)
T_co = TypeVar("T_co", bound=Attempted, covariant=True)
_STEPS = 4  # so many lines of a script may raise one after the other
NOT_COMPARED = "without it the script's run raises here, so there was nothing to compare it with"


class Run(Protocol[T_co]):
    """Run the scripts on edited source (path -> text), and try what they hand to torch; `what` is said to those who
    wait."""

    def __call__(self, edited: Mapping[str, str], what: str) -> T_co: ...


def gives_nothing(tried: Attempted) -> bool:
    """Did a script raise before it handed anything to torch?"""
    return not [*_given(tried)] and any(not one.passed for one in _runs(tried))


def mended_until_it_gives(run: Run[T], unedited: Edition, first: T, end: float) -> Edition:
    """The edition with which the run gives something to try, or comes to its end; the unedited one where none does.
    Only what the run itself failed of is mended: of anything else it would show nothing.

    first  what came of the unedited script
    end    on the monotonic clock: no run begins after it
    """
    proposals = Proposals()
    edition, now = unedited, first
    for _ in range(_STEPS):
        further: tuple[Edition, T] | None = None
        for proposal in proposals.of([one for one in now.findings if one.stage == SCRIPT.name]):
            try:
                edited = proposal.applied(edition)
            except OverlappingEditsError:
                continue
            if time.monotonic() > end or what_is_broken(edited.found, edited.texts):
                continue
            tried = run(edited.texts, proposal.in_words)
            if not gives_nothing(tried):
                return edited.with_caveats_since(unedited, [NOT_COMPARED], RAN)
            proposals.refuted.add(proposal.keys)
            if further is None and _how_it_raised(tried) != _how_it_raised(now):
                further = edited, tried
        if further is None:
            break
        edition, now = further
    return unedited


def _given(tried: Attempted) -> list[TargetReport]:
    return [one for one in tried.targets if one.stage(SCRIPT.name) is None]


def _runs(tried: Attempted) -> list[StageResult]:
    return [stage for one in tried.targets if (stage := one.stage(SCRIPT.name)) is not None]


def _how_it_raised(tried: Attempted) -> list[tuple[str, str]]:
    return [(one.error_class or "", one.full_detail) for one in _runs(tried) if one.status != PASSED]
