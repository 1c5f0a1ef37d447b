"""Make stages of functions that go on from a program, which may have been exported before them or not at all."""

from __future__ import annotations

from dataclasses import replace
from functools import wraps
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import export
from exportlint.trial.protocol.outcomes import SKIPPED

if TYPE_CHECKING:
    from collections.abc import Callable


def from_program(run: Callable[[StageRequest, Any], StageAnswer]) -> Callable[[StageRequest], StageAnswer]:
    """The stage that is given the ExportedProgram too: that of the stage it follows, else one of its own."""

    @wraps(run)
    def with_program(request: StageRequest) -> StageAnswer:
        exported = request.exported or export(request.loaded, request.mode)
        if not exported.is_program:
            return StageAnswer(SKIPPED, "the target's own export call gives no ExportedProgram")
        return run(replace(request, exported=exported), exported.program)

    return with_program
