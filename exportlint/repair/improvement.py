"""What became of targets whose source was edited: better, worse, or as before."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Protocol

from exportlint.finding import Evidence, Severity
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, FAILED, PASSED, REFUSED, SKIPPED, TIMED_OUT
from exportlint.trial.protocol.stages import (
    AGREEMENT,
    BREAKS,
    EAGER,
    FURTHER,
    LOAD,
    RECOMPILES,
    SAME_BEHAVIOUR,
    SAME_PROGRAM,
    StageKind,
)
from exportlint.trial.protocol.torch_messages import SKIPPED_FRAME

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from exportlint.finding import Finding
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.result import StageResult, TargetReport


class Attempted(Protocol):
    """What a trial of edited source gave."""

    @property
    def findings(self) -> Sequence[Finding]: ...
    @property
    def targets(self) -> Sequence[TargetReport]: ...


AS_BEFORE = "what failed fails as before"
_MISSING = frozenset({"KeyError", "NameError", "UnboundLocalError"})
_LOOKING = (StageKind.INFORM, StageKind.DRAFT)  # they look for the cause of a failure
_BESIDE = frozenset({"stdout", "log", "files", "observe", "outside-state"})


def is_well(tried: Attempted) -> bool:
    """Is there nothing that a trial showed to be wrong?"""
    return not any(is_shown(one) for one in tried.findings)


def wrong_program(tried: Attempted) -> str | None:
    """How a program, of which a trial shows nothing wrong, computes something else on the inputs of the court."""
    seen = (one for target in tried.targets if (one := target.stage(SAME_PROGRAM.name)) is not None)
    differs = next((one.full_detail for one in seen if one.status == DIFFERS), None)
    return f"the exported program computes something else: {differs}" if differs else None


def runs(target: TargetReport) -> bool:
    """Does it load, and come back from eager? What does not cannot be compared."""
    return status(target, LOAD.name) == PASSED and status(target, EAGER.name) in (PASSED, REFUSED)


def failed(target: TargetReport) -> list[StageResult]:
    """The stages that say that the model does not export, or exports as something else."""
    kinds = (StageKind.EXPORT, StageKind.COMPARE, StageKind.FROM_PROGRAM)
    return [one for one in target.stages if one.status in FAILED and one.row.kind in kinds]


def is_shown(finding: Finding) -> bool:
    """Did a trial show it, and does it matter?"""
    return finding.evidence in (Evidence.CONFIRMED, Evidence.DISCOVERED) and finding.severity is not Severity.NOTE


def exports(tried: Attempted, modes: Sequence[str]) -> bool:
    """Does every target export in every mode that is asked for?"""
    return all(status(report, f"export-{mode}") == PASSED for report in tried.targets for mode in modes)


def status(report: TargetReport, name: str) -> str:
    stage = report.stage(name)
    return stage.status if stage else SKIPPED


def not_the_same(compared: StageResult | None) -> str:
    """Why an edited model is not known to compute the same: it computes something else, or nobody could compare it."""
    if compared is None:
        return "the edited model was not compared with the unedited one, since it does not load or does not run"
    if compared.status in (CRASHED, TIMED_OUT, SKIPPED):
        return f"the edited model was not compared with the unedited one: {compared.full_detail}"
    return f"the edited model computes something else: {compared.full_detail}"


def why_not(before: Attempted, now: Attempted) -> str | None:
    """Why the edited source is not better; None where it is."""
    better = False
    for old, new in zip(before.targets, now.targets, strict=True):
        if new.broken:
            return new.broken
        same = new.stage(SAME_BEHAVIOUR.name)
        if same is None or not same.passed:
            return not_the_same(same)
        if more := _compiles_worse(old, new):
            return more
        for stage in new.stages:
            was = old.stage(stage.name)
            if was is not None and _is_worse(was, stage) and not _is_seen_first(stage, old, new):
                how = f"was {was.status}, and now {stage.status}"
                return f"{stage.name} {how}: {stage.full_detail}"
        better = better or _is_better(old, new)
    return None if better else AS_BEFORE


def _is_worse(old: StageResult, new: StageResult) -> bool:
    """Did it pass, or did torch say of it what is wrong, where now something is missing, or silently other?"""
    if new.passed or new.status == SKIPPED or new.row.kind in _LOOKING:
        return False
    lost = new.error_class in _MISSING and old.error_class not in _MISSING
    silent = new.status == DIFFERS and old.status != DIFFERS
    return old.passed or (new.row.kind is StageKind.EXPORT and (lost or silent))


def _is_seen_first(stage: StageResult, old: TargetReport, new: TargetReport) -> bool:
    """Is it what the model does beside its results, which shows because only now there is a program?"""
    exports = [one for one in new.stages if one.row.kind is StageKind.EXPORT and one.passed]
    is_first = exports and not any(status(old, one.name) == PASSED for one in exports)
    differ = [one for one in stage.observations if one.kind == "difference"]
    return bool(is_first and differ) and stage.row.kind is StageKind.COMPARE and all(map(_is_beside, differ))


def _is_beside(seen: Observation) -> bool:
    return seen.check in _BESIDE or (seen.check == "input-effect" and seen.details.get("what") == "eager-only")


def has_less(before: Attempted, now: Attempted) -> bool:
    """Is something gone that was shown, and nothing there that was not?"""
    was, left = (Counter(one.rule for one in tried.findings if is_shown(one)) for tried in (before, now))
    return left < was


def is_further(before: Attempted, now: Attempted) -> bool:
    """Does a stage pass that failed, or is less shown to be wrong? A line that is written otherwise and refused as
    before is no step, though torch's words name its text."""
    passes = any(
        one.status in FAILED and status(new, one.name) == PASSED
        for old, new in zip(before.targets, now.targets, strict=True)
        for one in old.stages
    )
    compiles = any(_compiles_better(old, new) for old, new in zip(before.targets, now.targets, strict=True))
    return passes or compiles or has_less(before, now)


def refused_further(tried: Attempted) -> bool:
    """Are there lines that are refused behind the first one?"""
    lines = {(one.path, one.line) for one in tried.findings if is_shown(one) and REFUSED in one.effect.values()}
    return len(lines) > 1 and any(status(one, FURTHER.name) == REFUSED for one in tried.targets)


def looked_further(before: Attempted, now: Attempted) -> bool:
    """Did the stage that goes on after the first refusal come to its end, where it did before, and there is one?"""
    return all(
        status(new, FURTHER.name) in (PASSED, REFUSED)
        or not any(stage.row.kind is StageKind.EXPORT for stage in failed(new))
        for old, new in zip(before.targets, now.targets, strict=True)
        if status(old, FURTHER.name) == REFUSED
    )


def breaking_lines(target: TargetReport) -> frozenset[tuple[str, int]]:
    """Path and line of each line at which torch.compile breaks the graph."""
    return frozenset(place for place, _ in _seen_by(target, BREAKS.name, "graph-break"))


def functions_left(target: TargetReport) -> frozenset[tuple[str, int]]:
    """Path and line of each line for which Dynamo leaves the whole function around it to Python: it hides what would
    break behind the line, however much that is."""
    seen = _seen_by(target, BREAKS.name, "graph-break")
    return frozenset(place for place, one in seen if one.details.get("kind") == SKIPPED_FRAME)


def operators_in_graphs(target: TargetReport) -> int:
    """How many operators the graphs of a call have, all together: what torch.compile compiles."""
    stage = target.stage(BREAKS.name)
    return sum(one["operators"] for one in stage.data.get("graphs", ())) if stage else 0


def _seen_by(target: TargetReport, stage_name: str, kind: str) -> Iterator[tuple[tuple[str, int], Observation]]:
    stage = target.stage(stage_name)
    for seen in stage.observations if stage else ():
        if seen.kind == kind:
            yield (seen.user_path or "", seen.user_line or 0), seen


def _cost_of_compiling(target: TargetReport) -> tuple[int, int]:
    """How many functions Dynamo leaves to Python as a whole, and at how many lines it breaks the graph. In this order:
    a function that it leaves hides breaks."""
    return len(functions_left(target)), len(breaking_lines(target))


def breaks_more(old: TargetReport, new: TargetReport) -> bool:
    """Is more of it left to Python?"""
    return _cost_of_compiling(new) > _cost_of_compiling(old)


def _recompiled(target: TargetReport) -> int | None:
    """How many lines are the cause of compiling again and again; None where that was not looked at."""
    if status(target, RECOMPILES.name) != PASSED:
        return None
    return len(_recompiled_in(target, apart_from=frozenset()))


def _compiles_worse(old: TargetReport, new: TargetReport) -> str | None:
    """Is more of it left to Python, or compiled again? In words."""
    (skipped, lines), (skipped_now, lines_now) = map(_cost_of_compiling, (old, new))
    if skipped_now > skipped:
        return f"torch.compile leaves {skipped_now} functions to Python, and left {skipped}"
    if skipped_now == skipped and lines_now > lines:
        return f"torch.compile breaks the graph at {lines_now} lines, and did at {lines}"
    was = _recompiled(old)
    if was is None or len(_recompiled_in(new, apart_from=_functions_that_break(old))) <= was:
        return None
    return "torch.compile compiles more of it again each time"


def _functions_that_break(target: TargetReport) -> frozenset[tuple[str, str]]:
    """Those with a graph break, and those that call them: what is compiled there again shows only once they are one
    graph, since Python computed it."""
    seen = _seen_by(target, BREAKS.name, "graph-break")
    return frozenset((frame.path, frame.function) for _, one in seen for frame in one.frames)


def _recompiled_in(target: TargetReport, *, apart_from: AbstractSet[tuple[str, str]]) -> frozenset[tuple[str, int]]:
    """The lines that are the cause of compiling again and again, in other functions than these, not called there."""
    seen = _seen_by(target, RECOMPILES.name, "recompile")
    return frozenset(
        place for place, one in seen if apart_from.isdisjoint((frame.path, frame.function) for frame in one.frames)
    )


def _compiles_better(old: TargetReport, new: TargetReport) -> bool:
    """Is less of it left to Python, or compiled again?"""
    if status(new, BREAKS.name) != PASSED:
        return False
    if status(old, BREAKS.name) in FAILED or _cost_of_compiling(new) < _cost_of_compiling(old):
        return True
    was, now = map(_recompiled, (old, new))
    return was is not None and now is not None and now < was


def differs_compiled(target: TargetReport) -> bool:
    """Does the compiled model compute something else than eager?"""
    return status(target, AGREEMENT.name) == DIFFERS


def _is_better(old: TargetReport, new: TargetReport) -> bool:
    agrees_now = differs_compiled(old) and status(new, AGREEMENT.name) == PASSED
    return (
        agrees_now
        or _compiles_better(old, new)
        or any(_failure(stage) != _failure(new.stage(stage.name)) for stage in old.stages if _counts(stage, new))
    )


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
