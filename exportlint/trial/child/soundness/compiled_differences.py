"""Compare the runs of a compiled model with those of eager."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.soundness.differences import differences

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.call_record import RunRecord
    from exportlint.trial.protocol.observation import Observation

_EFFECTS = ("stdout", "log", "files")


def beside_compiled(quiet: RunRecord, whole: RunRecord, again: RunRecord, compiled: RunRecord) -> Iterator[Observation]:
    """Everything in which the compiled model differs from eager.

    `quiet` is eager without the effects that the model leaves out where torch compiles, `whole` is it with them: both
    are right. `again` is eager once more. Globals that eager changes are not asked of the compiled model: they are
    found by way of the model's own functions, and a compiled one has others.
    """
    effects = {seen.check for seen in differences(whole, again, compiled)}
    for seen in differences(quiet, again, compiled):
        if seen.check != "outside-state" and (seen.check not in _EFFECTS or seen.check in effects):
            yield seen
