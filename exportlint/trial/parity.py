"""A program beside eager on the sample: one call, which decides whether other stages go on from it. In the child."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.calls import record
from exportlint.trial.comparing import differences
from exportlint.trial.isolate import in_fork
from exportlint.trial.parting import at_parting
from exportlint.trial.stage import CRASHED, DIFFERS, PASSED, Answer, Request, short
from exportlint.trial.stages.eager import kept

if TYPE_CHECKING:
    from collections.abc import Callable

SAMPLE = (0,)

# A program that computes the right thing goes on to the lowerings, whatever it no longer prints.
_COUNT = ("output", "input-effect", "raises", "raises-in-eager-only")


def beside_eager(request: Request, module: Callable[[], Callable[..., Any]], detail: str = "") -> Answer:
    """Call what `module` gives, in a fork, so that the program stays as it is. `detail` is said where both agree."""
    eager, again = kept(request.folder.parent)
    if eager.rows[0].raised:
        return Answer(PASSED, "eager raises: nothing to compare with")
    theirs = in_fork(lambda: record(request.loaded, module(), SAMPLE), request.folder)
    if theirs.raised:
        request.emit(theirs.raised)
        return Answer(CRASHED, short(f"{theirs.raised.error_class}: {theirs.raised.first_line}"))
    if theirs.ended:
        return Answer(CRASHED, short(theirs.ended))
    found = [seen for seen in differences(eager, again, theirs.value) if seen.details["check"] in _COUNT]
    for difference in found:
        request.emit(at_parting(request, difference, module, request.mode))
    return Answer(DIFFERS, short(found[0].text)) if found else Answer(PASSED, detail)
