"""Compare one call of a program with eager on the sample; stages that go on from an export need it to pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.call_record import record_calls
from exportlint.trial.child.execution.eager_records import kept_records
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.localize.value_divergence import at_divergence
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import differences, in_results
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, PASSED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable


_SAMPLE = (0,)


def compared_on_sample(
    request: StageRequest, module: Callable[[], Callable[..., Any]], detail: str = ""
) -> StageAnswer:
    """The answer of a stage: does the program that `module` gives agree with eager? `detail` is for when it does.

    The call is made in a fork, so that the program stays as it is.
    """
    eager, again = kept_records(request.folder.parent)
    if eager.calls[0].raised:
        return StageAnswer(PASSED, "eager raises: nothing to compare with")
    theirs = in_fork(lambda: record_calls(request.loaded, module(), _SAMPLE), request.folder)
    if theirs.raised:
        request.emit(theirs.raised)
        return StageAnswer(CRASHED, None)
    if theirs.ended:
        return StageAnswer(CRASHED, short(theirs.ended))
    # A program that computes the right thing goes on to the lowerings, whatever it no longer prints.
    found = list(filter(in_results, differences(eager, again, theirs.value)))
    for difference in found:
        request.emit(at_divergence(request, difference, module, request.mode))
    return StageAnswer(DIFFERS, None) if found else StageAnswer(PASSED, detail)
