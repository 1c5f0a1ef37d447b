"""soundness: compare the exported program with eager on other values, on a second call and after a second export."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.call_record import RunRecord, kept_records, record_calls
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.error_tolerant import eager_results, tolerant_export, with_fixed_sizes
from exportlint.trial.child.loading.held_moment import HeldMoment
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.checks import CHECKS, fakes_left_in, shown, wrong_custom_operators
from exportlint.trial.child.soundness.differences import STATE, differences, is_unsteady
from exportlint.trial.child.soundness.held_differences import SECONDS, eager_at_held_moment
from exportlint.trial.child.soundness.second_export import changed_literals, kept_literals, literals
from exportlint.trial.child.soundness.subject import Subject
from exportlint.trial.child.torch_private.tensors import perturbed
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, NON_STRICT, PASSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.child.export.error_tolerant import CallPlace
    from exportlint.trial.child.export.export_call import Exported
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


# Find the silent differences of a model that torch refuses, in the program that an error-tolerant export gives.
#
# What torch refused is a constant there, so only the sample is called, and only what no constant can cause counts.


_TWICE = (0, 0)
_COUNT = (STATE, "baked", "stdout", "log", "files", "observe", "input-effect", "fake-tensor-left")


def differences_beside_refusals(request: StageRequest) -> list[Observation] | None:
    """The differences; None where nothing is known: the trace gave no program, or one that does not run."""
    if request.loaded.export:
        return None
    runs = kept_records(request.folder.parent)
    found = in_fork(lambda: _looked(request, *runs), request.folder).value
    if found is None:
        return None
    if is_unsteady(*runs) or any(seen.check == "baked" for seen in found):
        held = in_fork(lambda: _looked_at_one_moment(request, runs[0]), request.folder, cpu_seconds=SECONDS).value
        found += [seen for seen in held or () if seen.check == STATE]
    return [seen for seen in found if seen.check in _COUNT]


def _looked_at_one_moment(request: StageRequest, known: RunRecord) -> list[Observation] | None:
    """What a value of the moment hides, as in `held_differences`."""
    with HeldMoment().held():
        runs = eager_at_held_moment(request, known)
        return _looked(request, *runs) if runs else None


def _looked(request: StageRequest, first: RunRecord, second_run: RunRecord) -> list[Observation] | None:
    results = eager_results(request.loaded)
    # The same results for both, or they would look like values of the moment.
    second = in_fork(lambda: _second_export(request, results), request.folder).value
    exported = _program(request, results)
    if exported is None:
        return None
    found = [*changed_literals(literals(exported.program), second or {}), *fakes_left_in(exported.model)]
    eager, again = map(_of_sample, (first, second_run))
    ran = record_calls(request.loaded, exported.module(), _TWICE)
    found += [seen for seen in differences(eager, again, ran) if seen.check != STATE or eager.changed]
    return found if found or not ran.calls[0].raised else None


def _program(request: StageRequest, results: Mapping[CallPlace, Any], number: int = 0) -> Exported | None:
    exported = tolerant_export(request.loaded, results, number).exported
    return exported or with_fixed_sizes(request.loaded, results, number)


def _second_export(request: StageRequest, results: Mapping[CallPlace, Any]) -> dict[str, Any]:
    exported = perturbed(lambda: _program(request, results, number=1))
    return literals(exported.program) if exported else {}


def _of_sample(one: RunRecord) -> RunRecord:
    return dataclasses.replace(one, calls=tuple(call for call in one.calls if call.input_set == 0))
