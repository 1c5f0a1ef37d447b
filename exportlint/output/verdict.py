"""Say in one sentence what the trial of a target showed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, MODES, PASSED, REFUSED, TIMED_OUT
from exportlint.trial.protocol.stages import EAGER, LADDER, LOAD, StageKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.finding import Finding
    from exportlint.trial.protocol.result import StageResult, TargetReport
    from exportlint.trial.protocol.stages import Stage


_LATER = {"decompose": "cannot be decomposed", "save-load": "cannot be saved"}
_ENDED = {CRASHED: "crashes the export", TIMED_OUT: "does not finish exporting"}


def verdict(target: TargetReport, findings: Sequence[Finding]) -> str:
    """Whether it exports and agrees, mode by mode, and where it runs; "" where nothing was tried."""
    for first, words in ((LOAD, "does not load"), (EAGER, "does not run in eager")):
        stage = target.stage(first.name)
        if stage is not None and not stage.passed:
            return f"{words}: {stage.full_detail}" if stage.full_detail else words
    return "; ".join([*_by_mode(target, findings), *_afterwards(target)])


def _by_mode(target: TargetReport, findings: Sequence[Finding]) -> Iterator[str]:
    said = {mode: text for mode in MODES if (text := _of_mode(target, mode, findings))}
    if len(said) == len(MODES) and len(set(said.values())) == 1:
        yield f"{next(iter(said.values()))} in either mode"
    else:
        yield from (f"{text} in {mode} mode" for mode, text in said.items())


def _of_mode(target: TargetReport, mode: str, findings: Sequence[Finding]) -> str:
    result = _result(target, lambda stage: stage.mode == mode)
    if result is None:
        return ""
    if result.status in _ENDED:
        return _ENDED[result.status]
    if result.status == REFUSED:
        own = [one for one in findings if one.target == target.name and one.effect.get(mode) == "refused"]
        lines = len({(one.path, one.line) for one in own})
        return f"is refused at {lines} line{'' if lines == 1 else 's'}" if lines else "is refused"
    return _compared(target, mode) if result.status in (PASSED, DIFFERS) else ""


def _compared(target: TargetReport, mode: str) -> str:
    """Of a mode that exports."""
    soundness = _result(target, lambda stage: stage.kind is StageKind.COMPARE)
    export = _result(target, lambda stage: stage.mode == mode)
    differs = export is not None and export.status == DIFFERS
    if soundness is not None:
        own = (seen for seen in soundness.observations if seen.kind == "difference")
        differs = differs or any(seen.details.get("mode") == mode for seen in own)
        if not differs and soundness.status not in (PASSED, DIFFERS):
            return "exports"
    return "exports and differs from eager" if differs else "exports and agrees with eager" if soundness else "exports"


def _afterwards(target: TargetReport) -> Iterator[str]:
    """What it can be made into, and what it cannot."""
    for name, words in _LATER.items():
        stage = target.stage(name)
        if stage is not None and stage.status == REFUSED:
            yield words
    lowered = [stage for stage in target.stages if stage.row.lowering]
    for words, fits in (("runs in", PASSED), ("fails in", None)):
        names = [
            str(stage.row.lowering)
            for stage in lowered
            if stage.status == fits or (fits is None and stage.status in (REFUSED, DIFFERS, CRASHED, TIMED_OUT))
        ]
        if names:
            yield f"{words} {', '.join(names)}"


def _result(target: TargetReport, wanted: Callable[[Stage], bool]) -> StageResult | None:
    return next((target.stage(stage.name) for stage in LADDER if wanted(stage)), None)
