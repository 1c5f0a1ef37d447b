"""Rewrite, try, rewrite what is left: round after round, until the target exports or nothing more helps."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from exportlint.edited_source import OverlappingEditsError
from exportlint.repair.edition import Edition
from exportlint.repair.improvement import AS_BEFORE, Attempted, exports, has_less, is_well, runs, why_not
from exportlint.repair.proposals import Proposals
from exportlint.trial.protocol.stages import SAME_BEHAVIOUR

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.repair.proposals import Proposal


# Of the rewrites that do no harm, how many are tried with another one on top, and with how many others.
_STONES = 2
_STEPS_AFTER = 4
T = TypeVar("T", bound=Attempted)
R_co = TypeVar("R_co", bound=Attempted, covariant=True)


class Try(Protocol[R_co]):
    """Try the targets on edited source; `quick`: only whether they export and compute what they computed."""

    def __call__(self, edited: Mapping[str, str], *, quick: bool) -> R_co: ...


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rewrite that was tried and not taken, and why."""

    proposal: Proposal
    why: str


@dataclass
class Repaired(Generic[T]):
    """How it began, how it ended, and what was edited in between."""

    before: T
    after: T
    edition: Edition = field(default_factory=Edition)
    rejected: list[Rejected] = field(default_factory=list)
    out_of_time: bool = False


def repair(attempt: Try[T], modes: Sequence[str], budget: float) -> Repaired[T]:
    """Mend what a trial shows. `modes`: those of export that have to pass; `budget`: seconds after which no further
    round begins."""
    end = time.monotonic() + budget
    edition = Edition()  # before anything runs: files that change from now on are refused
    first = attempt({}, quick=False)
    rounds = _Rounds(attempt, modes, end, Repaired(first, first, edition))
    while all(map(runs, first.targets)) and not is_well(rounds.state.after) and rounds.step():
        pass
    return rounds.state


@dataclass(frozen=True)
class _TriedRewrite(Generic[T]):
    """A rewrite on top of an edition. `why`: what speaks against it, None where nothing does; `tried` where it ran."""

    proposal: Proposal
    edition: Edition
    why: str | None
    tried: T | None = None


@dataclass
class _Rounds(Generic[T]):
    attempt: Try[T]
    modes: Sequence[str]
    end: float
    state: Repaired[T]
    proposals: Proposals = field(default_factory=Proposals)

    def step(self) -> bool:
        """Take the first rewrite that helps; where none does by itself, one that helps after another that does no
        harm. False where nothing helps."""
        harmless = []
        for step in self._steps(self.proposals, self.state.after, self.state.edition):
            if step.why is None:
                return self._taken(step)
            self.proposals.refuted.add(step.proposal.keys)
            self.state.rejected.append(Rejected(step.proposal, step.why))
            harmless += [step] if step.why == AS_BEFORE else []
        return any(map(self._step_after, harmless[:_STONES]))

    def _step_after(self, first: _TriedRewrite[T]) -> bool:
        if first.tried is None:
            return False
        for second in islice(self._steps(Proposals(), first.tried, first.edition), _STEPS_AFTER):
            if second.why is None:
                self.state.rejected = [one for one in self.state.rejected if one.proposal is not first.proposal]
                return self._taken(second)
        return False

    def _taken(self, step: _TriedRewrite[T]) -> bool:
        if step.tried is not None:
            self.state.edition, self.state.after = step.edition, step.tried
        return step.tried is not None

    def _steps(self, proposals: Proposals, now: T, edition: Edition) -> Iterator[_TriedRewrite[T]]:
        """Each rewrite of what `now` shows, tried on top of the edition, until the time is over."""
        for proposal in proposals.of(now.findings):
            if time.monotonic() > self.end:
                self.state.out_of_time = True
                return
            try:
                edited = proposal.applied(edition)
            except OverlappingEditsError:
                proposals.refuted.add(proposal.keys)
                continue
            yield self._tried(proposal, edited, edition)

    def _tried(self, proposal: Proposal, edited: Edition, before_edits: Edition) -> _TriedRewrite[T]:
        if not self._takes_both_sides(proposal, before_edits):
            return _TriedRewrite(proposal, edited, "no inputs that were tried take both sides of its test")
        before = self.state.after
        if not proposal.is_safe and not exports(before, self.modes):
            tried = self.attempt(edited.texts, quick=True)
            if (why := why_not(before, tried)) is not None:
                return _TriedRewrite(proposal, edited, why, tried)
        tried = self.attempt(edited.texts, quick=False)
        why = why_not(before, tried)
        return _TriedRewrite(proposal, edited, None if why == AS_BEFORE and has_less(before, tried) else why, tried)

    def _takes_both_sides(self, proposal: Proposal, edition: Edition) -> bool:
        """Did inputs take both sides of every decision of which that is needed?"""
        stages = (target.stage(SAME_BEHAVIOUR.name) for target in self.state.before.targets)
        taken = {tuple(place) for stage in stages if stage is not None for place in stage.data.get("two_sided", ())}
        firsts = (min(fix.edits, key=lambda one: one.start) for _, fix in proposal.parts if fix.needs_both_sides)
        places = ((str(Path(one.path).resolve()), edition.line_before(one.path, one.start[0])) for one in firsts)
        return all(place in taken for place in places)
