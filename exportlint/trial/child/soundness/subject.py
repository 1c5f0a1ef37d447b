"""Export a target for the checks of soundness, and run the program when a check first asks for it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.call_record import RunRecord, record_calls
from exportlint.trial.child.export.export_call import Exported, export
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import differences, program_or_refusal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.child.execution.request import StageRequest


_OTHER_VALUES_FIRST = (1,)


@dataclass(frozen=True)
class ProgramRuns:
    """The calls of an exported program, and of the model that was exported.

    program       the calls of the exported program
    model_after   the same calls of the model that was exported, once that was done; None where there is no model
    state_alone   do both agree on the other values when nothing was called before?
    """

    program: RunRecord
    model_after: RunRecord | None
    state_alone: bool


@dataclass(eq=False)
class Subject:
    """What every check of soundness is given: a program exported in one mode, and two runs of eager.

    exported        the program, and the model it was made of
    eager, again    two runs of eager, each of a process of its own
    second_export   the literals of a second export; None where nobody asked for one
    """

    request: StageRequest
    mode: str
    exported: Exported
    eager: RunRecord
    again: RunRecord
    second_export: Mapping[str, Any] | None

    @classmethod
    def of(
        cls,
        request: StageRequest,
        mode: str,
        eager: tuple[RunRecord, RunRecord],
        second_export: Mapping[str, Any] | None,
    ) -> Subject:
        """Of the program that this stage follows; without one, export in the mode, which raises what that raises."""
        return cls(request, mode, request.exported or export(request.loaded, mode), *eager, second_export)

    @cached_property
    def runs(self) -> ProgramRuns:
        """Run everything, once, when a check first asks: a run changes constants and buffers of the program."""
        loaded, exported, folder = self.request.loaded, self.exported, self.request.folder
        # Before the program runs: it shares its buffers with the model. In a fork: the model's run must not reach them.
        after = in_fork(lambda: record_calls(loaded, exported.model), folder)
        state_alone = agree_on_other_values(self.request, exported) if self.eager.changed else False
        program = record_calls(loaded, program_or_refusal(exported.module))
        return ProgramRuns(program, after.value if exported.model is not None else None, state_alone)


def agree_on_other_values(request: StageRequest, exported: Exported) -> bool:
    """Do eager and the program, when nothing was called before? To be asked before the program runs."""
    loaded, plan = request.loaded, _OTHER_VALUES_FIRST
    eager = in_fork(lambda: record_calls(loaded, loaded.eager(), plan), request.folder)
    theirs = in_fork(lambda: record_calls(loaded, program_or_refusal(exported.module), plan), request.folder)
    if not (eager.ok and theirs.ok):
        return False
    return not any(seen.check == "output" for seen in differences(eager.value, eager.value, theirs.value))
