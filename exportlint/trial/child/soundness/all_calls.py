"""Check: the program gives what eager gives, on the sample and on other values, in the first call and in the second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.localize.value_divergence import at_divergence
from exportlint.trial.child.soundness.differences import as_state, differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.soundness.subject import Subject
    from exportlint.trial.protocol.observation import Observation


def differing_calls(subject: Subject) -> Iterator[Observation]:
    """Every difference, at the line where the two diverge or whose effect it is."""
    eager, program = subject.eager, subject.runs.program
    for seen in differences(eager, subject.again, program):
        on_other_values = seen.check == "output" and seen.details["input_set"]
        if on_other_values and subject.runs.state_alone:
            yield as_state(seen, eager, program)
        else:
            yield at_divergence(subject.request, seen, subject.exported.module, subject.mode)
