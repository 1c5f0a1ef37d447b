"""Rewrite, try, rewrite what is left: round after round, until the target exports or nothing more helps."""

from __future__ import annotations

import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from exportlint.cores import free_cores, result_of
from exportlint.edited_source import OverlappingEditsError
from exportlint.repair.edition import THIS_CONFIGURATION, Edition
from exportlint.repair.improvement import (
    AS_BEFORE,
    Attempted,
    breaking_lines,
    breaks_more,
    differs_compiled,
    exports,
    failed,
    has_less,
    is_well,
    looked_further,
    refused_further,
    runs,
    status,
    why_not,
    wrong_program,
)
from exportlint.repair.proposals import Proposal, Proposals
from exportlint.repair.settings_read import users_not_tried
from exportlint.repair.wellformed import lost_names, what_is_broken
from exportlint.trial.protocol.outcomes import FAILED, PASSED
from exportlint.trial.protocol.stages import SAME_BEHAVIOUR, StageKind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from exportlint.finding import Finding, Fix
    from exportlint.repair.edition import HunkReason
    from exportlint.trial.protocol.result import TargetReport


# Of the rewrites that do no harm, how many are tried with another one on top, and with how many others.
_STONES = 6
_STEPS_AFTER = 4
# How long rewrites are tried after the last one that helped: so many times as long as the trial took.
PATIENCE = 2.0
AT_OWN_LINE = "torch refuses a line that the rewrite wrote"
T = TypeVar("T", bound=Attempted)
R_co = TypeVar("R_co", bound=Attempted, covariant=True)


class Try(Protocol[R_co]):
    """Try the targets on edited source (path -> text). `goes_on` is asked of each after its exports, whether the other
    stages are worth it; `what` says what is tried, for those who wait."""

    def __call__(
        self, edited: Mapping[str, str], goes_on: Callable[[TargetReport], bool] | None = None, what: str = ""
    ) -> R_co: ...


@dataclass(frozen=True, slots=True)
class OtherSettings:
    """What the edited model does under other settings than the sample's. `why` it is not taken; None where it may be;
    `differs`: what is told where it is taken all the same."""

    why: str | None = None
    differs: str = ""


class TrySettings(Protocol):
    """Compare the edited model with the unedited one under other settings of the numbers that edited functions read."""

    def __call__(self, edition: Edition) -> OtherSettings: ...


class Alone(Protocol):
    """What the comparison in eager tells beside an edition: of one of several rewrites, its own caveats."""

    def __call__(self, edition: Edition) -> Collection[str]: ...


class ComparedInEager(Protocol):
    """Compare the edited model with the unedited one in eager alone, which is the cheapest of what is asked."""

    def __call__(self, edition: Edition) -> str | None:
        """What it computes else; None where it computes the same."""
        ...


@dataclass(frozen=True, slots=True)
class Rejected:
    """A rewrite that was tried and not taken, or never tried because it breaks the file, and why. `on`: what its edits
    are edits of; None where they are of several texts, one after the other."""

    proposal: Proposal
    why: str
    on: Edition | None = None


@dataclass
class Repaired(Generic[T]):
    """How it began, how it ended, and what was edited in between.

    tried        how many rewrites ran
    out_of_time  there are others that did not
    stopped      the number of the signal that ended it
    costs        of each target, what a call of the compiled model takes before and after, where that was measured
    taken        the rewrites that the edition is made of
    """

    before: T
    after: T
    edition: Edition = field(default_factory=Edition)
    rejected: list[Rejected] = field(default_factory=list)
    tried: int = 0
    out_of_time: bool = False
    stopped: int | None = None
    costs: list[tuple[Mapping[str, Any], Mapping[str, Any]]] = field(default_factory=list)
    taken: list[Proposal] = field(default_factory=list)

    def withdraw(self, begin: Edition, why: str) -> None:
        """Give all back that was taken: what was asked at last speaks against it."""
        self.rejected.append(Rejected(Proposal(tuple(part for one in self.taken for part in one.parts)), why))
        self.edition, self.after, self.taken = begin, self.before, []


class Stopped(BaseException):
    """Somebody asked the run to end: by this signal."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def repair(
    attempt: Try[T],
    settings: TrySettings,
    modes: Sequence[str],
    budget: float | None = None,
    alone: Alone = lambda edition: (),  # noqa: ARG005 - the name is the protocol's
    begin: Edition | None = None,
    began: float | None = None,
    in_eager: ComparedInEager = lambda edition: None,  # noqa: ARG005 - the name is the protocol's
    patience: float = PATIENCE,
) -> Repaired[T]:
    """Mend what a trial shows. `modes`: those of export that have to pass; `budget`: seconds after which no further
    rewrite is tried; None: some after the last one that helped, by how long the trial took. `begin`: what stands for
    the unedited source, where the targets are not there without. `began`: when on the monotonic clock the trial of that
    began; None: it begins here.

    Stopped ends it, after the first trial, with what was found by then.
    """
    began = time.monotonic() if began is None else began
    edition = begin or Edition()  # before anything runs: files that change from now on are refused
    first = attempt(edition.texts)
    rounds = _Rounds(
        attempt, settings, modes, Repaired(first, first, edition), budget, began, alone, in_eager, patience
    )
    try:
        while first.targets and all(map(runs, first.targets)) and not is_well(rounds.state.after) and rounds.step():
            pass
    except Stopped as stop:
        rounds.state.stopped = stop.number
    return rounds.state


@dataclass(frozen=True)
class _TriedRewrite(Generic[T]):
    """A rewrite on top of an edition. `why`: what speaks against it, None where nothing does; `tried` where it ran;
    `under`: the rewrites below it that were not taken by themselves; `reveals`: the graph breaks at more lines, and at
    none that the rewrite wrote: what was broken hid them."""

    proposal: Proposal
    edition: Edition
    why: str | None
    tried: T | None = None
    under: tuple[Proposal, ...] = ()
    reveals: bool = False

    @property
    def is_wrong(self) -> bool:
        """Does it not come to run, or compute something else than the unedited model, in eager?"""
        stages = (one.stage(SAME_BEHAVIOUR.name) for one in (self.tried.targets if self.tried else ()))
        return self.tried is None or any(stage is not None and not stage.passed for stage in stages)

    @property
    def is_harmless(self) -> bool:
        """Did it run, and may help with another one on top?"""
        return self.tried is not None and (self.reveals or self.why in (AS_BEFORE, AT_OWN_LINE))


@dataclass
class _Rounds(Generic[T]):
    attempt: Try[T]
    settings: TrySettings
    modes: Sequence[str]
    state: Repaired[T]
    budget: float | None
    began: float
    alone: Alone
    in_eager: ComparedInEager
    patience: float
    proposals: Proposals = field(default_factory=Proposals)
    harmless: set[tuple[tuple[str, str, str], ...]] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)
    end: float = 0.0
    last: float = 0.0  # how long one took that did not help: none is begun that ends too late

    def __post_init__(self) -> None:
        self.trial = time.monotonic() - self.began
        self.texts.add(self.state.edition.digest)
        self._go_on_from_here()

    def _go_on_from_here(self) -> None:
        now = time.monotonic()
        self.end = now + self.patience * self.trial if self.budget is None else self.began + self.budget

    def step(self) -> bool:
        """Take the first rewrite that helps; where none does by itself, one that helps after others that do no harm.
        False where nothing helps."""
        harmless = []
        for step in self._steps(self.proposals, self.state.after, self.state.edition):
            if step.why is None:
                return self._taken(step)
            self.proposals.refuted.add(step.proposal.keys)
            self.state.rejected.append(Rejected(step.proposal, step.why, self.state.edition))
            if step.is_wrong and len(step.proposal.parts) > 1:
                self._refute_the_wrong_ones(step.proposal.parts, self.state.edition)
            if step.is_harmless:
                harmless.append(step)
                self.harmless.add(step.proposal.keys)
        return self._step_after(harmless)

    def _refute_the_wrong_ones(self, parts: Sequence[tuple[Finding, Fix]], edition: Edition) -> None:
        """Of several rewrites that are wrong together, those that are it by themselves, found by halves, in eager; and
        of each its next ways, up to one that is right. The next proposal has that in its place, and all the rest as it
        was."""
        middle = len(parts) // 2
        for half in (parts[:middle], parts[middle:]):
            if not self._is_refuted(Proposal(tuple(half)), edition):
                continue
            if len(half) > 1:
                self._refute_the_wrong_ones(half, edition)
                continue
            ((finding, fix),) = half
            for other in finding.rewrites[finding.rewrites.index(fix) + 1 :]:
                if not self._is_refuted(Proposal(((finding, other),)), edition):
                    break

    def _is_refuted(self, proposal: Proposal, edition: Edition) -> bool:
        """Does it compute something else, by a comparison in eager? Of one rewrite that is kept."""
        if proposal.keys in self.proposals.refuted:
            return len(proposal.parts) == 1
        if time.monotonic() > self.end:
            return False
        edited = proposal.applied(edition)
        why = self._why_not_run(proposal, edited, edition) or self.in_eager(edited)
        if why is not None and len(proposal.parts) == 1:
            self.proposals.refuted.add(proposal.keys)
            self.state.rejected.append(Rejected(proposal, why, edition))
        return why is not None

    def _step_after(self, harmless: list[_TriedRewrite[T]]) -> bool:
        """Breadth first, and of the same depth first after those that moved what fails."""
        stones = deque(sorted(harmless, key=lambda one: one.why == AS_BEFORE))
        for _ in range(_STONES):
            if not stones:
                return False
            first = stones.popleft()
            under = (*first.under, first.proposal)
            for second in islice(self._steps(Proposals(), first.tried, first.edition, under), _STEPS_AFTER):
                if second.why is None:
                    self.state.rejected = [one for one in self.state.rejected if one.proposal not in under]
                    return self._taken(second)
                stones += [second] if second.is_harmless else []
        return False

    def _taken(self, step: _TriedRewrite[T]) -> bool:
        if step.tried is not None:
            self.state.edition, self.state.after = step.edition, step.tried
            self.state.taken += [*step.under, step.proposal]
            self.proposals.refuted -= self.harmless  # they may help on top of it
            self._go_on_from_here()
        return step.tried is not None

    def _steps(
        self, proposals: Proposals, now: T | None, edition: Edition, under: tuple[Proposal, ...] = ()
    ) -> Iterator[_TriedRewrite[T]]:
        """Each rewrite of what `now` shows, tried on top of the edition, until the time is over; none whose result was
        tried before. The first one by itself, for it mostly helps; then as many at once as there are free cores."""
        candidates = self._candidates(proposals, now, edition)
        several = list(islice(candidates, 1))
        while several:
            began = time.monotonic()
            for step in self._side_by_side(several, edition):
                self.state.tried += step.tried is not None
                self.last = time.monotonic() - began if step.why and self.budget is None else 0.0
                yield replace(step, under=under)
            several = list(islice(candidates, 1 + free_cores()))

    def _candidates(self, proposals: Proposals, now: T | None, edition: Edition) -> Iterator[tuple[Proposal, Edition]]:
        for proposal in proposals.of(now.findings if now else ()):
            try:
                edited = proposal.applied(edition)
            except OverlappingEditsError:
                proposals.refuted.add(proposal.keys)
                continue
            if edited.digest in self.texts:
                continue
            if time.monotonic() + self.last > self.end:
                self.state.out_of_time = True
                return
            self.texts.add(edited.digest)
            yield proposal, edited

    def _side_by_side(
        self, several: Sequence[tuple[Proposal, Edition]], edition: Edition
    ) -> Iterator[_TriedRewrite[T]]:
        """In their order, the first of them in this thread, which says what it does."""
        pool = ThreadPoolExecutor(max(1, len(several) - 1))
        try:
            others = [pool.submit(self._tried, *one, edition) for one in several[1:]]
            yield self._tried(*several[0], edition)
            for one in others:
                yield result_of(one)
        finally:  # nobody waits for those that are not needed any more: a rewrite helped, or somebody asked to end
            pool.shutdown(wait=False, cancel_futures=True)

    def _tried(self, proposal: Proposal, edited: Edition, before_edits: Edition) -> _TriedRewrite[T]:
        if why := self._why_not_run(proposal, edited, before_edits):
            return _TriedRewrite(proposal, edited, why)
        before = self.state.after
        ended: list[bool] = []

        def goes_on(now: TargetReport) -> bool:
            ended.append(not self._is_worth_more(before, proposal, now))
            return not ended[-1]

        tried = self.attempt(edited.texts, goes_on, proposal.in_words)
        why = why_not(before, tried)
        if why is None and any(map(self._fails_in, [edited] * len(tried.targets), before.targets, tried.targets)):
            why = AT_OWN_LINE
        if why == AS_BEFORE and not any(ended) and looked_further(before, tried) and has_less(before, tried):
            why = None
        if why is None and is_well(tried):
            why = wrong_program(tried)
        if why is None:
            edited, why = self._under_other_settings(proposal, edited, before_edits, tried)
        reveals = why is not None and any(
            map(self._reveals, [edited] * len(tried.targets), before.targets, tried.targets)
        )
        return _TriedRewrite(proposal, edited, why, tried, reveals=reveals)

    def _why_not_run(self, proposal: Proposal, edited: Edition, before_edits: Edition) -> str | None:
        """Why a rewrite needs no run to be refused."""
        if why := what_is_broken(edited.found, edited.texts):
            return why
        if not self._takes_both_sides(proposal, before_edits):
            return "no inputs that were tried take both sides of its test"
        return None

    def _fails_in(self, edited: Edition, old: TargetReport, new: TargetReport) -> bool:
        """Does an export fail that failed before, now at a line that was just written?"""
        refusals = (stage for stage in failed(new) if stage.row.kind is StageKind.EXPORT)
        again = (stage for stage in refusals if status(old, stage.name) in FAILED)
        seen = [one for stage in again for one in stage.observations if one.kind == "exception" and one.user][:1]
        written = partial(edited.is_written_since, self.state.edition)
        return any(one.user is not None and written(one.user.path, one.user.line) for one in seen)

    def _reveals(self, edited: Edition, old: TargetReport, new: TargetReport) -> bool:
        """Does it compute the same, and break the graph at more lines, none of which was just written?"""
        if status(new, SAME_BEHAVIOUR.name) != PASSED or not breaks_more(old, new):
            return False
        return not any(edited.is_written_since(self.state.edition, path, line) for path, line in breaking_lines(new))

    def _is_worth_more(self, before: T, proposal: Proposal, now: TargetReport) -> bool:
        """Are the stages behind the exports worth it? Not where it is refused as before, unless several lines were
        refused: of those one may be less, and the first still there. Nor where the graph breaks as before, and it is
        for that: to look what is compiled again, and whether it agrees, takes several times as long."""
        same = now.stage(SAME_BEHAVIOUR.name)
        if same is None or not same.passed:
            return False
        if len(before.targets) > 1:
            return True
        is_asked_anyway = proposal.is_safe or exports(before, self.modes) or refused_further(before)
        is_asked_anyway = is_asked_anyway or any(map(differs_compiled, before.targets))
        if is_asked_anyway and not proposal.is_of_graph_breaks:
            return True
        return why_not(_Attempt((), before.targets), _Attempt((), (now,))) is None

    def _under_other_settings(
        self, proposal: Proposal, edited: Edition, before_edits: Edition, tried: T
    ) -> tuple[Edition, str | None]:
        """With what is told beside the rewrites, or why it is not taken."""
        stages = [stage for target in tried.targets if (stage := target.stage(SAME_BEHAVIOUR.name)) is not None]
        caveats = [text for stage in stages for text in stage.data.get("caveats", ())]
        classes = [name for stage in stages for name in stage.data.get("classes", ())]
        told = {text for one in before_edits.reasons for text in one.caveat.split("; ")}
        found = self.settings(edited)
        if found.why:
            return edited, found.why
        caveats += [f"`{name}` is gone" for name in lost_names(edited.found, edited.texts)]
        if not proposal.is_safe:
            users = users_not_tried(edited.found, edited.texts, classes)
            caveats += [f"`{name}` uses it too, and was not tried" for name in users]
        new = [text for text in caveats if text not in told]
        shown = None
        if found.differs and found.differs not in told:
            shown = THIS_CONFIGURATION
            new.append(found.differs)
        alone = self._caveats_alone(proposal, before_edits, new) if len(proposal.parts) > 1 else {}
        return edited.with_caveats_since(self.state.edition, new, shown, alone), None

    def _caveats_alone(
        self, proposal: Proposal, before_edits: Edition, caveats: Sequence[str]
    ) -> dict[str, list[HunkReason]]:
        """Of each of the caveats the rewrites that have it by themselves, where any has."""
        found: dict[str, list[HunkReason]] = {}
        for part in proposal.parts if caveats else ():
            one = Proposal((part,)).applied(before_edits)
            own = {*self.alone(one), *(f"`{name}` is gone" for name in lost_names(one.found, one.texts))}
            for text in own.intersection(caveats):
                found.setdefault(text, []).extend(why for why in one.reasons if why not in before_edits.reasons)
        return found

    def _takes_both_sides(self, proposal: Proposal, edition: Edition) -> bool:
        """Did inputs take both sides of every decision of which that is needed?"""
        stages = (target.stage(SAME_BEHAVIOUR.name) for target in self.state.before.targets)
        taken = {tuple(place) for stage in stages if stage is not None for place in stage.data.get("two_sided", ())}
        asked = ((fix.edits[0].path, fix.both_sides_of) for _, fix in proposal.parts if fix.both_sides_of)
        places = ((str(Path(path).resolve()), edition.line_before(path, line)) for path, line in asked)
        return all(place in taken for place in places)


@dataclass(frozen=True)
class _Attempt:
    findings: tuple[()]
    targets: Sequence[TargetReport]
