"""Silent differences in a model that is refused: of the program that a trace gives which went on after the refusals.

What torch refused is a constant there, so only the sample is called, and only what no constant can cause counts.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from exportlint.trial.calls import Record, record
from exportlint.trial.comparing import STATE, differences
from exportlint.trial.graphs import baked, literals, perturbed
from exportlint.trial.isolate import in_fork
from exportlint.trial.leftovers import leaks
from exportlint.trial.onward import answers_of, fixed_sizes, go_on
from exportlint.trial.stages.eager import kept

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.answers import Call
    from exportlint.trial.exporting import Exported
    from exportlint.trial.observation import Observation
    from exportlint.trial.stage import Request

_TWICE = (0, 0)
_COUNT = (STATE, "baked", "stdout", "log", "files", "observe", "input-effect", "fake-tensor-left")


def onward(request: Request) -> list[Observation] | None:
    """The differences; None where no program came of the trace, or one that does not run, and so nothing is known."""
    if request.loaded.export:
        return None
    found = in_fork(lambda: _looked(request), request.folder).value
    return None if found is None else [seen for seen in found if seen.details.get("check") in _COUNT]


def _looked(request: Request) -> list[Observation] | None:
    answers = answers_of(request.loaded)
    # The same answers for both, or they would look like values of the moment.
    twin = in_fork(lambda: _twin(request, answers), request.folder).value
    exported = _program(request, answers)
    if exported is None:
        return None
    found = [*baked(literals(exported.program), twin or {}), *leaks(exported)]
    eager, again = map(_of_sample, kept(request.folder.parent))
    ran = record(request.loaded, exported.module(), _TWICE)
    found += [seen for seen in differences(eager, again, ran) if seen.details["check"] != STATE or eager.changed]
    return found if found or not ran.rows[0].raised else None


def _program(request: Request, answers: Mapping[Call, Any], number: int = 0) -> Exported | None:
    exported = go_on(request.loaded, answers, number).exported
    return exported or fixed_sizes(request.loaded, answers, number)


def _twin(request: Request, answers: Mapping[Call, Any]) -> dict[str, Any]:
    exported = perturbed(lambda: _program(request, answers, number=1))
    return literals(exported.program) if exported else {}


def _of_sample(one: Record) -> Record:
    return dataclasses.replace(one, rows=tuple(row for row in one.rows if row.draw == 0))
