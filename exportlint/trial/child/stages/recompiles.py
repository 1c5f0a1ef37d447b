"""recompiles: what makes torch.compile compile the model again and again, and what ends it."""

from __future__ import annotations

import time

from exportlint.trial.child.compilation.input_changes import AGAIN, changes
from exportlint.trial.child.compilation.recurring import NOTHING, Recurring, recurring
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import PASSED, REFUSED

_SECONDS = 60.0  # after which no further change is begun


def run(request: StageRequest) -> StageAnswer:
    """One change of the inputs after another, each on a model compiled afresh; so many "seconds", if that is less."""
    seconds = min(_SECONDS, request.options["seconds"])
    until = time.monotonic() + seconds
    tried: list[str] = []
    known: set[object] = set()
    before, why = NOTHING, ""
    for change in changes(request.loaded, until):
        if time.monotonic() > until:
            why = f", then stopped after {seconds:.3g} s"
            break
        seen = recurring(request.loaded, change, until - time.monotonic(), before)
        if not seen.is_whole:
            why = f", then stopped after {seconds:.3g} s"
            break
        tried.append(change.kind)
        if seen.raised is not None:
            request.emit(of_exception(seen.raised).with_details(changed=change.to_dict()))
            return StageAnswer(REFUSED, None)
        for one in seen.found:
            if one.guard.subject not in known:  # of another change, such as a number in larger steps
                known.add(one.guard.subject)
                request.emit(_observed(one))
        if change.kind == AGAIN:
            if seen.ended is None:  # whatever else changed, it would be compiled again
                why = "; even the same call compiles again, so no other inputs were tried"
                break
            before = seen.ended
    kinds = ", ".join(dict.fromkeys(tried)) or "nothing"
    return StageAnswer(PASSED, f"{_found(len(known))}; tried: {kinds}{why}")


def _found(number: int) -> str:
    if not number:
        return "nothing compiles again each time"
    return f"{number} cause{'s' if number > 1 else ''} of compiling again each time"


def _observed(one: Recurring) -> Observation:
    details = {
        "changed": dict(one.change),
        "guard": one.guard.guard,
        "times": one.times,
        "calls": one.calls,
        "over_limit": one.over_limit,
        "mends": [dict(mend) for mend in one.mends],
    }
    return Observation("recompile", one.guard.guard, details=details).at(one.guard.frames)
