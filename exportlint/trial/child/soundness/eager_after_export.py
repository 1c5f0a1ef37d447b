"""Check: the model that was exported still gives what it gave before."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.soundness.differences import STATE, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.call_record import RunRecord
    from exportlint.trial.child.soundness.subject import Subject
    from exportlint.trial.protocol.observation import Observation


_OF_VALUES = ("output", STATE, "raises")


def changed_model(subject: Subject) -> Iterator[Observation]:
    """What the export did to the model it was given."""
    if (after := subject.runs.model_after) is not None:
        yield from eager_after(subject.eager, subject.again, after)


def eager_after(eager: RunRecord, again: RunRecord, after: RunRecord) -> Iterator[Observation]:
    """`after`: the calls of the model that was exported, once that was done."""
    for seen in differences(eager, again, after):
        if seen.check in _OF_VALUES:
            yield seen.with_details(check="eager-after-export")
