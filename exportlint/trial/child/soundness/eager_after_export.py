"""Check: after the export the model still gives what eager gives."""

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
    """Differences between eager and the model after its export; none where the target has an export call of its own."""
    if (after := subject.runs.model_after) is not None:
        yield from eager_after(subject.eager, subject.again, after)


def eager_after(eager: RunRecord, again: RunRecord, after: RunRecord) -> Iterator[Observation]:
    """Differences between eager and `after`, the calls of the model after its export."""
    for seen in differences(eager, again, after):
        if seen.check in _OF_VALUES:
            yield seen.with_details(check="eager-after-export")
