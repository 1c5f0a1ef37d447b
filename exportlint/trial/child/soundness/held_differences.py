"""Check: what a value of the moment hides, in calls at one and the same moment.

Where a model asks a clock, each call of eager gives another value, and a program that has a drawn number as a constant
differs in every call, so that no comparison tells of anything else. Here the moment is held (`loading/held_moment.py`):
the target is exported once more and run beside eager, and what differs then has another cause.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.trial.child.execution.call_record import record_calls
from exportlint.trial.child.export.export_call import export
from exportlint.trial.child.loading.held_moment import HeldMoment
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import STATE, as_state, differences, is_unsteady
from exportlint.trial.child.soundness.second_export import baked_literals
from exportlint.trial.child.soundness.subject import agree_on_other_values
from exportlint.trial.child.soundness.value_divergence import at_divergence

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.call_record import RunRecord
    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.child.soundness.subject import Subject
    from exportlint.trial.protocol.observation import Observation

_OF_VALUES = ("output", STATE, "input-effect", "buffer", "raises")
SECONDS = 60  # of a processor: a model may wait until a clock says so


def beside_moment(subject: Subject) -> Iterator[Observation]:
    """What differs at one moment as well; nothing where eager goes on to give other values, or nothing was hidden."""
    moved = is_unsteady(subject.eager, subject.again) or any(True for _ in baked_literals(subject))
    if moved:
        found = in_fork(lambda: list(_found(subject)), subject.request.folder, cpu_seconds=SECONDS)
        yield from found.value or ()


def _found(subject: Subject) -> Iterator[Observation]:
    request, loaded = subject.request, subject.request.loaded
    with HeldMoment().held():
        if (runs := eager_at_held_moment(request, subject.eager)) is None:
            return
        eager, again = runs
        exported = export(loaded, subject.mode)
        state_alone = bool(eager.changed) and agree_on_other_values(request, exported)
        program = record_calls(loaded, exported.module())
        for seen in differences(eager, again, program):
            if seen.check == "output" and seen.details["input_set"] and state_alone:
                yield as_state(seen, eager, program)
            elif seen.check in _OF_VALUES:
                yield at_divergence(request, seen, exported.module, subject.mode)


def eager_at_held_moment(request: StageRequest, known: RunRecord) -> tuple[RunRecord, RunRecord] | None:
    """Two runs of eager, with the lines that are `known` to change what it leaves behind. None where it raises now, or
    goes on to give other values."""
    loaded = request.loaded
    runs = [in_fork(lambda: record_calls(loaded, loaded.eager()), request.folder) for _ in range(2)]
    if not all(run.ok for run in runs):
        return None
    first, again = (replace(run.value, changed=known.changed, mattering=known.mattering) for run in runs)
    return None if is_unsteady(first, again) else (first, again)
