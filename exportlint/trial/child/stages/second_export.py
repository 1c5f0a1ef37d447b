"""second-export: export once more in a process that has not exported, and keep the literals for soundness."""

from __future__ import annotations

from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.server.process_control import exit_if_forked_copy
from exportlint.trial.child.soundness.second_export import keep_literals, literals_of_second_export
from exportlint.trial.protocol.outcomes import PASSED


def run(request: StageRequest) -> StageAnswer:
    """`mode` in the options is the one whose literals are wanted."""
    found = literals_of_second_export(request, request.mode)
    exit_if_forked_copy()
    keep_literals(request.folder.parent, found)
    return StageAnswer(PASSED)
