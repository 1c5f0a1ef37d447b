"""Find the silent differences of a model that torch refuses, in the program that an error-tolerant export gives.

What torch refused is a constant there, so only the sample is called, and only what no constant can cause counts.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.call_record import RunRecord, record_calls
from exportlint.trial.child.execution.eager_records import kept_records
from exportlint.trial.child.export.error_tolerant import eager_results, tolerant_export, with_fixed_sizes
from exportlint.trial.child.export.graph_literals import literals, perturbed
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import STATE, differences
from exportlint.trial.child.soundness.fake_tensors import fakes_left_in
from exportlint.trial.child.soundness.second_export import changed_literals

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.child.export.export_call import Exported
    from exportlint.trial.child.export.torch_calls import CallPlace
    from exportlint.trial.protocol.observation import Observation


_TWICE = (0, 0)
_COUNT = (STATE, "baked", "stdout", "log", "files", "observe", "input-effect", "fake-tensor-left")


def differences_beside_refusals(request: StageRequest) -> list[Observation] | None:
    """The differences; None where nothing is known: the trace gave no program, or one that does not run."""
    if request.loaded.export:
        return None
    found = in_fork(lambda: _looked(request), request.folder).value
    return None if found is None else [seen for seen in found if seen.check in _COUNT]


def _looked(request: StageRequest) -> list[Observation] | None:
    results = eager_results(request.loaded)
    # The same results for both, or they would look like values of the moment.
    second = in_fork(lambda: _second_export(request, results), request.folder).value
    exported = _program(request, results)
    if exported is None:
        return None
    found = [*changed_literals(literals(exported.program), second or {}), *fakes_left_in(exported.model)]
    eager, again = map(_of_sample, kept_records(request.folder.parent))
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
