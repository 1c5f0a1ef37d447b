"""Say in one sentence what the trial of a target showed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.protocol.outcomes import (
    COMPILED,
    CRASHED,
    DIFFERS,
    FAILED,
    MODES,
    PASSED,
    REFUSED,
    SKIPPED,
    TIMED_OUT,
)
from exportlint.trial.protocol.stages import EAGER, LOAD, StageKind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.protocol.result import TargetReport


_LATER = {"decompose": "cannot be decomposed", "save-load": "cannot be saved"}
_LOWERED = {"runs in {}": (PASSED,), "compiled for {}, not run here": (COMPILED,), "fails in {}": FAILED}
_ENDED = {CRASHED: "crashes the export", TIMED_OUT: "does not finish exporting"}


def verdict(target: TargetReport) -> str:
    """Whether it exports and agrees, mode by mode, and where it runs; "" where nothing was tried."""
    for first, words in ((LOAD, "does not load"), (EAGER, "does not run in eager")):
        stage = target.stage(first.name)
        if stage is not None and stage.status == SKIPPED:
            return f"whether it exports is not known: {stage.full_detail}"
        if stage is not None and not stage.passed:
            return f"{words}: {stage.full_detail}" if stage.full_detail else words
    load = target.stage(LOAD.name)
    wrapped = "once wrapped in a module, " if load is not None and load.data.get("wrapped") else ""
    said = [*(f"{wrapped}{text}" for text in _by_mode(target)), *_afterwards(target)]
    unknown = "whether it exports is not known" if target.stage(LOAD.name) else ""
    return "; ".join(said) or unknown


def _by_mode(target: TargetReport) -> Iterator[str]:
    said = {mode: text for mode in MODES if (text := _of_mode(target, mode))}
    if len(said) == len(MODES) and len(set(said.values())) == 1:
        yield f"{next(iter(said.values()))} in either mode"
    else:
        yield from (f"{text} in {mode} mode" for mode, text in said.items())


def _of_mode(target: TargetReport, mode: str) -> str:
    result = target.of(lambda row: row.mode == mode)
    match result.status if result else None:
        case None:
            return ""
        case str(status) if status in _ENDED:
            return _ENDED[status]
        case str(status) if status == REFUSED:
            lines = _refused_lines(target, mode)
            return f"is refused at {lines} line{'' if lines == 1 else 's'}" if lines else "is refused"
        case str(status) if status in (PASSED, DIFFERS):
            return _compared(target, mode)
    return ""


def _refused_lines(target: TargetReport, mode: str) -> int:
    """How many lines torch named, in the export and in the stages that go on after it."""
    own = (
        seen
        for stage in target.stages
        for seen in stage.observations
        if seen.kind == "exception" and mode in (stage.row.mode, seen.details.get("mode"))
    )
    return len({(seen.user_path, seen.user_line) for seen in own if seen.user})


def _compared(target: TargetReport, mode: str) -> str:
    """Of a mode that exports. Where eager does not repeat itself, nobody knows whether it agrees."""
    if target.agrees(mode):
        return "exports and agrees with eager"
    compared = (target.of(lambda row: row.mode == mode), target.of(lambda row: row.kind is StageKind.COMPARE))
    seen = [one for stage in compared if stage for one in stage.observations if one.kind == "difference"]
    seen = [one for one in seen if one.details.get("mode", mode) == mode]
    if _is_static(target) and target.agrees(mode, beside_sizes=True):
        return "exports and agrees with eager"
    if seen and all(one.is_about_containers for one in seen):
        return "exports and agrees with eager in its outputs, not in what it does to its arguments"
    if seen and all(one.is_about_the_model for one in seen):
        return "exports and agrees with eager, and breaks the model itself"
    return "exports and differs from eager" if seen else "exports"


def _is_static(target: TargetReport) -> bool:
    """Is nothing declared dynamic, though the target names inputs of other sizes?"""
    sizes = target.of(lambda row: row.kind is StageKind.SIZES)
    return sizes is not None and any(seen.check == "static-dim" for seen in sizes.observations)


def _afterwards(target: TargetReport) -> Iterator[str]:
    """Other sizes, which are tried in one mode; what it cannot be made into; where it runs."""
    sizes = target.of(lambda row: row.kind is StageKind.SIZES)
    stages = [stage for stage in (target.of(lambda row: row.kind is StageKind.COMPARE),) if stage]
    if wrong := dict.fromkeys(
        str(seen.details["operator"]) for stage in stages for seen in stage.observations if seen.is_wrong_kernel
    ):
        yield f"the fake kernel of {', '.join(wrong)} is wrong"
    if _is_static(target):
        yield "takes no other sizes than the sample's"
    elif sizes is not None and any(seen.kind == "difference" for seen in sizes.observations):
        yield "not for all declared sizes"
    yield from (words for name, words in _LATER.items() if (stage := target.stage(name)) and stage.status == REFUSED)
    lowered = [stage for stage in target.stages if stage.row.lowering]
    for words, statuses in _LOWERED.items():
        if names := [str(stage.row.lowering) for stage in lowered if stage.status in statuses]:
            yield words.format(", ".join(names))
