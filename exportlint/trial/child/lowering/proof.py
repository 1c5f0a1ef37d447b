"""Prove that a target computes what eager does: compile, load in a fresh process, run, compare. What it raises is an
answer, at the line of the model that it is about."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves
from exportlint.lowering.backend import COMPILED as USUAL_TOLERANCE
from exportlint.trial.child.lowering.agreement import first_mismatch
from exportlint.trial.child.lowering.difference_causes import cause_of
from exportlint.trial.child.lowering.dropped_guards import dropped, guards_of
from exportlint.trial.child.lowering.first_divergence import first_divergence
from exportlint.trial.child.lowering.fresh_process import FreshProcess
from exportlint.trial.child.lowering.input_calls import (
    AGAIN,
    SAMPLE,
    Expected,
    InputCall,
    expected,
    input_leaves,
    module_of,
    shapes_of,
    shapes_only,
)
from exportlint.trial.child.lowering.operator_places import place_of_output
from exportlint.trial.child.lowering.proved import EagerReference, Proved, Subject
from exportlint.trial.child.lowering.refusal import ended, refused
from exportlint.trial.child.lowering.result_cache import key_of, recalled, remember
from exportlint.trial.child.lowering.written_buffers import lost_writes, written_buffers
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.exceptions import of_exception
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import COMPILED, CRASHED, DIFFERS, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.lowering.backend import Lowering
    from exportlint.trial.child.lowering.agreement import Mismatch


def prove(subject: Subject) -> Proved:
    """All steps, or what an earlier run with the same program, inputs, versions and settings came to."""
    if why := subject.lowering.missing():
        return Proved(SKIPPED, why)
    reference = _reference(subject)
    if isinstance(reference, Proved):
        return reference
    given = [array_leaves(input_leaves(call.given, subject.program.call_spec.in_spec)) for call in reference.calls]
    key = ""
    if subject.cache:
        packages = subject.lowering.packages
        key = key_of(subject.name, subject.lowering.settings, packages, subject.program, given)
        if found := recalled(subject.cache, key):
            return _as_before(Proved.from_dict(found))
    proved = _proved(subject, reference, given)
    if subject.cache and proved.status in (PASSED, DIFFERS, REFUSED):
        remember(subject.cache, key, proved.to_dict())
    return proved


def _as_before(earlier: Proved) -> Proved:
    detail = earlier.detail and f"{earlier.detail}; nothing compiled: the same as in an earlier run"
    return Proved(earlier.status, detail, earlier.observations, {**earlier.data, "recalled": True})


def _reference(subject: Subject) -> EagerReference | Proved:
    """In a fork, so that the program stays as it is."""
    result = in_fork(lambda: _called(subject), subject.folder.parent)
    if not result.ok:
        if result.raised is None:
            return Proved(CRASHED, short(f"eager, beside which it is compared: {result.ended}"))
        return Proved(SKIPPED, short(f"eager raised: {result.raised.first_line}"))
    found: EagerReference = result.value
    return found if found.calls else Proved(SKIPPED, "eager raised: nothing to compare with")


def _called(subject: Subject) -> EagerReference:
    spec = subject.program.call_spec.in_spec
    ours = expected(subject.build_model(), subject.calls, spec)
    theirs = expected(module_of(subject.program), subject.calls, spec)
    taken = [call for call, a, b in zip(subject.calls, ours, theirs, strict=True) if not a.raised and not b.raised]
    if len(taken) < len(subject.calls):  # a call that raised may have left something behind
        ours, theirs = (expected(model, taken, spec) for model in (subject.build_model(), module_of(subject.program)))
    others = expected(subject.build_model(), taken, spec, first_seed=50)
    written = [] if subject.lowering.keeps_state else written_buffers(subject.build_model, taken, spec)
    steady = first_mismatch(ours, _pairs(others), USUAL_TOLERANCE) is None
    return EagerReference(taken, ours, theirs, steady, tuple(written))


def _pairs(results: Sequence[Expected]) -> list[tuple[list[Any], list[Any]]]:
    return [(one.outputs, one.inputs) for one in results]


def _proved(subject: Subject, reference: EagerReference, given: list[list[Any]]) -> Proved:
    data: dict[str, Any] = {}
    lowering = subject.lowering
    with FreshProcess(subject.name, lowering.settings, subject.folder.parent) as process:
        try:
            artefact = lowering.compile(subject.program, subject.folder)
            data |= {"bytes": _size(artefact), "artefact": str(artefact)}
        except Exception as exc:  # noqa: BLE001 - backends raise anything
            return refused(subject, of_exception(exc), "compile", data)
        if not lowering.runs:
            return Proved(COMPILED, f"{_size_text(data)}; compiled, not run: it cannot run on this machine", data=data)
        guards = guards_of(subject)
        results = process.run(artefact, lowering.facts, [*given, *(one.leaves for one in guards)], subject.seconds)
    if len(results.calls) < len(given):  # what is raised by a call behind a guard shows that the target kept it
        if results.raised:
            return refused(subject, results.raised, results.step, data, results.printed)
        return ended(results, data)
    ours, beside = results.calls[: len(given)], results.calls[len(given) :]
    return _judged(subject, reference, ours, tuple(dropped(guards, beside, _tolerance(lowering))), data)


def _size(artefact: Path) -> int:
    files = artefact.rglob("*") if artefact.is_dir() else artefact.parent.glob(f"{artefact.stem}.*")
    return sum(file.stat().st_size for file in files if file.is_file())


def _size_text(data: Mapping[str, Any]) -> str:
    return f"{data['bytes'] / 1000:,.1f} kB"


def _judged(
    subject: Subject, reference: EagerReference, got: _Got, notes: tuple[Observation, ...], data: dict[str, Any]
) -> Proved:
    ours, theirs = reference.eager, got
    detail = f"{_size_text(data)}, run in a fresh process: {', '.join(_labels(reference.calls))}"
    if not reference.steady:
        # Random by design: only what does not depend on the draw can be held against it.
        ours = shapes_only(ours)
        theirs = [(shapes_of(outputs), shapes_of(inputs)) for outputs, inputs in theirs]
        detail += "; eager gives other values in every run, so only shapes were compared"
    found = first_mismatch(ours, theirs, _tolerance(subject.lowering))
    if found is None:
        lost = tuple(lost_writes(subject.program, reference.written, _tolerance(subject.lowering)))
        if lost:
            return Proved(DIFFERS, None, (*lost, *notes), {**data, "step": "compare"})
        return Proved(PASSED, detail, notes, data)
    seen = _difference(subject, reference, found)
    if reference.steady:
        seen = explained(subject, reference, got, found, seen, Path(data["artefact"]))
    return Proved(DIFFERS, None, (seen, *notes), {**data, "step": "compare"})


_Got = list[tuple[list[Any], list[Any]]]


def _labels(calls: Sequence[InputCall]) -> list[str]:
    labels = [call.inputs for call in calls]
    return [f"{SAMPLE} twice", *labels[2:]] if AGAIN in labels else labels


def _tolerance(lowering: Lowering) -> Mapping[str, tuple[float, float]]:
    """The target's, unless the configuration has one: a number stands for the relative and the absolute one."""
    asked = lowering.settings.get("tolerance")
    return dict.fromkeys(lowering.tolerance, (asked, asked)) if asked is not None else lowering.tolerance


def _difference(subject: Subject, reference: EagerReference, found: Mismatch) -> Observation:
    call = reference.calls[found.call]
    check = "input-effect" if found.of == "input" else "state" if call.inputs == AGAIN else "output"
    where = {"input_set": 0, "call": found.call, "inputs": call.inputs, "output": found.path, "step": "compare"}
    frames = () if check == "input-effect" else place_of_output(subject.program, found.position)
    return Observation("difference", details={"check": check, **where, **found.fields}).at(frames)


def explained(
    subject: Subject, reference: EagerReference, got: _Got, found: Mismatch, seen: Observation, artefact: Path
) -> Observation:
    """With what makes it differ, at the line of that: a cause that was tried, else the first operator that differs."""
    tolerance = _tolerance(subject.lowering)
    if cause := cause_of(subject, reference, got, found, tolerance):
        fields, frames = cause
        seen = seen.with_details(**fields, suggestion=subject.lowering.advice.get(fields["cause"], ""))
        return seen.at(frames) if frames else seen
    if seen.check != "output":
        return seen
    part = first_divergence(subject, artefact, reference.calls[found.call], tolerance)
    if part is None:
        return seen
    seen = seen.with_details(first=part.fields)
    return seen.at(part.frames) if part.frames else seen


def use_one_inductor_cache(folder: Path) -> None:
    """Headers that the compiler has read once are not read again by the other targets of a run."""
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(folder / "inductor"))
