"""export-non-strict and export-strict: export, then the exported program on the sample beside eager."""

from __future__ import annotations

from dataclasses import replace

from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import (
    export,
    refusal_without_wrapper,
    warning_observations,
    warnings_kept,
)
from exportlint.trial.child.export.refusal_lines import located_refusal
from exportlint.trial.child.soundness.differences import compared_on_sample
from exportlint.trial.child.torch_private.symbolic_shapes import recorded_decisions
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.outcomes import PASSED, REFUSED


def run(request: StageRequest) -> StageAnswer:
    """One call only: second calls and other values are the soundness stage's. The program is there for what follows."""
    # What is compiled may be a function as well.
    compiled = request.loaded.target.only_compiled
    if not compiled and (bare := refusal_without_wrapper(request.loaded, request.mode)):
        request.emit(bare)
    with warnings_kept() as warned, recorded_decisions() as decisions:
        try:
            exported = export(request.loaded, request.mode)
        except BaseException as exc:  # noqa: BLE001 - torch lets anything through, SystemExit of the model included
            seen = of_exception(exc)
            for part in located_refusal(request, seen, decisions):
                request.emit(part)
            return StageAnswer(REFUSED, None)
        finally:
            for warning in warning_observations(list(warned)):
                request.emit(warning)
    request.send({"exported": True})
    answer = compared_on_sample(request, exported.module)
    return replace(answer, exported=replace(exported, sizes=decisions)) if answer.status == PASSED else answer
