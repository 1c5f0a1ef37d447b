"""List the checks of soundness in the order in which they run.

A check is a function of a `Subject` that gives observations. A new one is a file in this folder and a line here; its
finding reads as its name and its fields, until `findings/wording/difference_messages.py` has a sentence for it. Those
that only read the program come first: the others ask for `Subject.runs`, and a run changes what the program holds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.soundness.all_calls import differing_calls
from exportlint.trial.child.soundness.eager_after_export import changed_model
from exportlint.trial.child.soundness.fake_kernels import wrong_custom_operators
from exportlint.trial.child.soundness.fake_tensors import fakes_in_model, fakes_in_program
from exportlint.trial.child.soundness.gradients import other_gradients
from exportlint.trial.child.soundness.second_export import baked_literals
from exportlint.trial.child.soundness.training_mode import exported_in_training_mode
from exportlint.trial.child.soundness.unsteady_eager import unsteady_eager
from exportlint.trial.child.soundness.unused_inputs import unused_inputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.trial.child.soundness.subject import Subject
    from exportlint.trial.protocol.observation import Observation


def _custom_operators(subject: Subject) -> Iterator[Observation]:
    return wrong_custom_operators(subject.request)


CHECKS: tuple[Callable[[Subject], Iterator[Observation]], ...] = (
    unused_inputs,
    fakes_in_program,
    _custom_operators,
    baked_literals,
    exported_in_training_mode,
    fakes_in_model,
    differing_calls,
    changed_model,
    other_gradients,
    unsteady_eager,
)
