"""soundness: compare the exported program with eager on other values, on a second call and after a second export."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from exportlint.trial.child.execution.eager_records import kept_records
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.checks import CHECKS
from exportlint.trial.child.soundness.differences_beside_refusals import differences_beside_refusals
from exportlint.trial.child.soundness.fake_kernels import wrong_custom_operators
from exportlint.trial.child.soundness.second_export import kept_literals
from exportlint.trial.child.soundness.shown import shown
from exportlint.trial.child.soundness.subject import Subject
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, NON_STRICT, PASSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from exportlint.trial.protocol.observation import Observation


def run(request: StageRequest) -> StageAnswer:
    """Run all checks on the program of the mode in the options; each observation has its mode in the details.

    Option "tolerant": non-strict is refused, so the program of an error-tolerant export stands in.
    Option "twice": a second export in this mode was asked for.
    """
    return _beside_refusals(request) if request.options.get("tolerant") else _checks(request, request.mode)


def _checks(request: StageRequest, mode: str) -> StageAnswer:
    home = request.folder.parent
    second = kept_literals(home) if request.options.get("twice") else None
    subject = partial(Subject.of, request, mode, kept_records(home), second)
    result = in_fork(lambda: _checked(subject()), request.folder)
    if result.ended:
        return StageAnswer(CRASHED, short(f"{mode}: {result.ended}"))
    if result.raised:
        request.emit(result.raised.with_details(mode=mode))
        return StageAnswer(CRASHED, short(f"{mode}: {result.raised.text}"))
    found, covered = result.value
    for seen in found:
        request.emit(seen.with_details(mode=mode))
    return StageAnswer(DIFFERS if any(map(_differs, found)) else PASSED, None, {"shown": {mode: covered}})


def _differs(seen: Observation) -> bool:
    """Does the program differ from eager, or what the tracer believes from what an operator gives here?"""
    return seen.kind == "difference" or seen.is_wrong_kernel


def _checked(subject: Subject) -> tuple[list[Observation], list[str]]:
    return [seen for check in CHECKS for seen in check(subject)], list(shown(subject))


def _beside_refusals(request: StageRequest) -> StageAnswer:
    beside = differences_beside_refusals(request)
    wrong = [] if request.loaded.export else list(wrong_custom_operators(request))
    for seen in (*wrong, *(beside or ())):
        request.emit(seen.with_details(mode=NON_STRICT, tolerant=True))
    if beside is None:
        return StageAnswer(SKIPPED, "what the refusals leave gives no program to run")
    if any(map(_differs, (*wrong, *beside))):
        return StageAnswer(DIFFERS, None)
    return StageAnswer(PASSED, None if wrong else "nothing more in what the refusals leave")
