"""Judge what an artefact gave beside what eager gives, and say why where they differ."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.lowering.comparing.difference_causes import cause_of
from exportlint.trial.child.lowering.comparing.first_divergence import first_divergence
from exportlint.trial.child.lowering.comparing.first_mismatch import first_mismatch
from exportlint.trial.child.lowering.comparing.input_calls import AGAIN, SAMPLE, InputCall, shapes_of, shapes_only
from exportlint.trial.child.lowering.comparing.written_buffers import lost_writes
from exportlint.trial.child.lowering.operator_places import place_of_output
from exportlint.trial.child.lowering.proved import EagerReference, ProofSubject, Proved
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.lowering.backend import Lowering
    from exportlint.trial.child.lowering.comparing.first_mismatch import Mismatch


def judged(
    subject: ProofSubject, reference: EagerReference, got: _Got, notes: tuple[Observation, ...], data: dict[str, Any]
) -> Proved:
    ours, theirs = reference.eager, got
    detail = f"{size_text(data)}, run in a fresh process: {', '.join(_labels(reference.calls))}"
    if not reference.steady:
        # Random by design: only what does not depend on the draw can be held against it.
        ours = shapes_only(ours)
        theirs = [(shapes_of(outputs), shapes_of(inputs)) for outputs, inputs in theirs]
        detail += "; eager gives other values in every run, so only shapes were compared"
    found = first_mismatch(ours, theirs, tolerance_of(subject.lowering))
    if found is None:
        lost = tuple(lost_writes(subject.program, reference.written, tolerance_of(subject.lowering)))
        if lost:
            return Proved(DIFFERS, None, (*lost, *notes), {**data, "step": "compare"})
        return Proved(PASSED, detail, notes, data)
    seen = _difference(subject, reference, found)
    if reference.steady:
        seen = _explained(subject, reference, got, found, seen, Path(data["artefact"]))
    return Proved(DIFFERS, None, (seen, *notes), {**data, "step": "compare"})


_Got = list[tuple[list[Any], list[Any]]]


def _labels(calls: Sequence[InputCall]) -> list[str]:
    labels = [call.inputs for call in calls]
    return [f"{SAMPLE} twice", *labels[2:]] if AGAIN in labels else labels


def tolerance_of(lowering: Lowering) -> Mapping[str, tuple[float, float]]:
    """The target's, unless the configuration has one: a number stands for the relative and the absolute one."""
    asked = lowering.settings.get("tolerance")
    return dict.fromkeys(lowering.tolerance, (asked, asked)) if asked is not None else lowering.tolerance


def _difference(subject: ProofSubject, reference: EagerReference, found: Mismatch) -> Observation:
    call = reference.calls[found.call]
    check = "input-effect" if found.of == "input" else "state" if call.inputs == AGAIN else "output"
    where = {"input_set": 0, "call": found.call, "inputs": call.inputs, "output": found.path, "step": "compare"}
    frames = () if check == "input-effect" else place_of_output(subject.program, found.position)
    return Observation("difference", details={"check": check, **where, **found.fields}).at(frames)


def _explained(
    subject: ProofSubject, reference: EagerReference, got: _Got, found: Mismatch, seen: Observation, artefact: Path
) -> Observation:
    """With what makes it differ, at the line of that: a cause that was tried, else the first operator that differs."""
    tolerance = tolerance_of(subject.lowering)
    if cause := cause_of(subject, reference, got, found, tolerance):
        fields, frames = cause
        seen = seen.with_details(**fields, suggestion=subject.lowering.advice.get(fields["cause"], ""))
        return seen.at(frames) if frames else seen
    if seen.check != "output" or seen.details["what"] == "structure":
        return seen
    part = first_divergence(subject, artefact, reference.calls[found.call], tolerance)
    if part is None:
        return seen
    seen = seen.with_details(first=part.fields)
    return seen.at(part.frames) if part.frames else seen


def size_text(data: Mapping[str, Any]) -> str:
    return f"{data['bytes'] / 1000:,.1f} kB"
