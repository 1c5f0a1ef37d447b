"""Rewrite, try, rewrite what is left: round after round, until the target exports or nothing more helps."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from exportlint.edited_source import OverlappingEditsError
from exportlint.finding import Evidence, Severity
from exportlint.repair.edition import Edition
from exportlint.repair.proposals import Proposals
from exportlint.trial.protocol.outcomes import DIFFERS, FAILED, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.stages import EAGER, LOAD, SAME_BEHAVIOUR, StageKind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.finding import Finding
    from exportlint.repair.proposals import Proposal
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import StageResult, TargetReport


class Attempted(Protocol):
    """What a trial of edited source gave."""

    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def targets(self) -> Sequence[TargetReport]: ...


_AS_BEFORE = "what failed fails as before"
_MISSING = frozenset({"KeyError", "NameError", "UnboundLocalError"})
_BESIDE = frozenset({"stdout", "log", "files", "observe", "outside-state"})
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
    state, proposals = Repaired(first, first, edition), Proposals()
    while all(map(_runs, first.targets)) and not is_well(state.after):
        taken = _round(state, proposals, attempt, modes, end)
        if taken is None:
            break
    return state


def is_well(tried: Attempted) -> bool:
    """Is there nothing that a trial showed to be wrong?"""
    return not any(is_shown(one) for one in tried.findings)


def _runs(target: TargetReport) -> bool:
    """Does it load, and come back from eager? What does not cannot be compared."""
    return _status(target, LOAD.name) == PASSED and _status(target, EAGER.name) in (PASSED, REFUSED)


def failed(target: TargetReport) -> list[StageResult]:
    """The stages that say that the model does not export, or exports as something else."""
    kinds = (StageKind.EXPORT, StageKind.COMPARE, StageKind.FROM_PROGRAM)
    return [one for one in target.stages if one.status in FAILED and one.row.kind in kinds]


def is_shown(finding: Finding) -> bool:
    """Did a trial show it, and does it matter?"""
    return finding.evidence in (Evidence.CONFIRMED, Evidence.DISCOVERED) and finding.severity is not Severity.NOTE


def _round(
    state: Repaired[T], proposals: Proposals, attempt: Try[T], modes: Sequence[str], end: float
) -> Proposal | None:
    """Try proposals until one helps; None where none does."""
    for proposal in proposals.of(state.after.findings):
        if time.monotonic() > end:
            state.out_of_time = True
            return None
        try:
            edition = proposal.applied(state.edition)
        except OverlappingEditsError:
            proposals.refuted.add(proposal.keys)
            continue
        quick = not proposal.is_safe and not _exports(state.after, modes)
        tried = attempt(edition.texts, quick=True) if quick else None
        why = _why_not(state.after, tried) if tried else None
        if why is None:
            tried = attempt(edition.texts, quick=False)
            why = _why_not(state.after, tried)
            why = None if why == _AS_BEFORE and _has_less(state.after, tried) else why
        if tried is not None and why is None:
            state.edition, state.after = edition, tried
            return proposal
        proposals.refuted.add(proposal.keys)
        state.rejected.append(Rejected(proposal, why or ""))
    return None


def _exports(tried: Attempted, modes: Sequence[str]) -> bool:
    """Does every target export in every mode that is asked for?"""
    return all(_status(report, f"export-{mode}") == PASSED for report in tried.targets for mode in modes)


def _status(report: TargetReport, name: str) -> str:
    stage = report.stage(name)
    return stage.status if stage else SKIPPED


def _why_not(before: Attempted, now: Attempted) -> str | None:
    """Why the edited source is not better; None where it is."""
    better = False
    for old, new in zip(before.targets, now.targets, strict=True):
        if new.broken:
            return new.broken
        same = new.stage(SAME_BEHAVIOUR.name)
        if same is None or not same.passed:
            return f"the edited model computes something else: {same.full_detail if same else 'it was not compared'}"
        for stage in new.stages:
            was = old.stage(stage.name)
            if was is not None and _is_worse(was, stage) and not _is_seen_first(stage, old, new):
                how = f"was {was.status}, and now {stage.status}"
                return f"{stage.name} {how}: {stage.full_detail}"
        better = better or _is_better(old, new)
    return None if better else _AS_BEFORE


def _is_worse(old: StageResult, new: StageResult) -> bool:
    """Did it pass, or did torch say of it what is wrong, where now something is missing, or silently other?"""
    if new.passed or new.status == SKIPPED:
        return False
    lost = new.error_class in _MISSING and old.error_class not in _MISSING
    silent = new.status == DIFFERS and old.status != DIFFERS
    return old.passed or (new.row.kind is StageKind.EXPORT and (lost or silent))


def _is_seen_first(stage: StageResult, old: TargetReport, new: TargetReport) -> bool:
    """Is it what the model does beside its results, which shows because only now there is a program?"""
    exports = [one for one in new.stages if one.row.kind is StageKind.EXPORT and one.passed]
    is_first = exports and not any(_status(old, one.name) == PASSED for one in exports)
    differ = [one for one in stage.observations if one.kind == "difference"]
    return bool(is_first and differ) and stage.row.kind is StageKind.COMPARE and all(map(_is_beside, differ))


def _is_beside(seen: Observation) -> bool:
    return seen.check in _BESIDE or (seen.check == "input-effect" and seen.details.get("what") == "eager-only")


def _has_less(before: Attempted, now: Attempted) -> bool:
    """Is something gone that was shown, and nothing there that was not?"""
    was, left = (Counter(one.rule for one in tried.findings if is_shown(one)) for tried in (before, now))
    return left < was


def _is_better(old: TargetReport, new: TargetReport) -> bool:
    return any(_failure(stage) != _failure(new.stage(stage.name)) for stage in old.stages if _counts(stage, new))


def _counts(stage: StageResult, new: TargetReport) -> bool:
    """A stage of the model's own that failed and ran again."""
    again = new.stage(stage.name)
    kinds = (StageKind.EXPORT, StageKind.COMPARE, StageKind.FROM_PROGRAM, StageKind.SIZES)
    ran = again is not None and again.status != SKIPPED
    return stage.row.kind in kinds and not stage.passed and stage.status != SKIPPED and ran


def _failure(stage: StageResult | None) -> tuple[object, ...]:
    """What fails, in a form that survives a move of lines."""
    if stage is None or stage.passed:
        return ()
    seen = [(one.kind, one.check, one.error_class, one.user.text if one.user else "") for one in stage.observations]
    return (stage.status, *seen)
