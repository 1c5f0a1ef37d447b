"""Say which kinds of difference the runs of a program could have shown, so that nothing is cleared unseen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.soundness.differences import STATE, is_unsteady
from exportlint.trial.child.soundness.gradients import compares_gradients
from exportlint.trial.protocol.shown_by import OWN_INPUTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.call_record import CallRecord
    from exportlint.trial.child.soundness.subject import Subject


_EFFECTS = (
    "raises-in-eager-only",
    "stdout",
    "log",
    "files",
    "unused-input",
    "fake-tensor-left",
    "outside-state",
)
_TWICE = 2


def shown(subject: Subject) -> Iterator[str]:
    """The kinds of `exportlint.trial.protocol.shown_by` that the checks of this subject covered."""
    sample, other = (_calls(subject, input_set) for input_set in (0, 1))
    if not sample:
        return
    yield from _EFFECTS
    if subject.second_export is not None:
        yield "baked"
    if subject.runs.model_after is not None:
        yield "eager-after-export"
    if is_unsteady(subject.eager, subject.again):
        return  # values were not compared
    yield from ("input-effect", "buffer", "frozen")
    if compares_gradients(subject):
        yield "gradients"
    if len(sample) == _TWICE or len(other) == _TWICE:
        yield from (STATE, "raises")
    if other and _has_other_values(sample[0], other[0]):
        yield "output"
        if other[0].meant:
            yield OWN_INPUTS


def _calls(subject: Subject, input_set: int) -> list[CallRecord]:
    """The calls of eager on the input set, where both it and the program gave something."""
    ours, theirs = (
        [call for call in run.calls if call.input_set == input_set] for run in (subject.eager, subject.runs.program)
    )
    return [a for a, b in zip(ours, theirs, strict=False) if a.raised is None and b.raised is None]


def _has_other_values(sample: CallRecord, other: CallRecord) -> bool:
    return compare(sample.inputs, other.inputs, exact=True) is not None
