"""soundness: compare the exported program with eager on other values, on a second call and after a second export."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.eager_records import kept_records
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.checks import CHECKS
from exportlint.trial.child.soundness.differences_beside_refusals import differences_beside_refusals
from exportlint.trial.child.soundness.second_export import literals_of_second_export
from exportlint.trial.child.soundness.shown import shown
from exportlint.trial.child.soundness.subject import Subject
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, NON_STRICT, PASSED, SKIPPED, worst
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.protocol.observation import Observation


def run(request: StageRequest) -> StageAnswer:
    """Run all checks for every mode in the options; each observation has its mode in the details.

    Option "tolerant": non-strict is refused, so the program of an error-tolerant export stands in.
    """
    statuses: list[str] = []
    covered: dict[str, list[str]] = {}
    crash: str | None = None
    for index, mode in enumerate(request.options["modes"]):
        # What one mode bakes the other mostly refuses, and a second strict export takes as long as the first.
        for found in _look(request, mode, twice=index == 0):
            if isinstance(found, tuple):
                covered[mode] = list(found)
            elif isinstance(found, str):
                crash = crash or short(f"{mode}: {found}")
                statuses.append(CRASHED)
            else:
                statuses.append(DIFFERS if found.kind == "difference" else PASSED)
                request.emit(found.with_details(mode=mode))
    beside = differences_beside_refusals(request) if request.options.get("tolerant") else []
    for seen in beside or ():
        statuses.append(DIFFERS)
        request.emit(seen.with_details(mode=NON_STRICT, tolerant=True))
    if not statuses and not request.options["modes"]:
        if beside is None:
            return StageAnswer(SKIPPED, "what the refusals leave gives no program to run")
        return StageAnswer(PASSED, "nothing more in what the refusals leave")
    status = worst(statuses)
    return StageAnswer(status, crash if status == CRASHED else None if statuses else "", {"shown": covered})


def _look(request: StageRequest, mode: str, *, twice: bool) -> Iterator[Observation | str | tuple[str, ...]]:
    """What the checks found; which kinds they would have shown; how the process ended, or what it raised, where they
    could not finish."""
    eager = kept_records(request.folder.parent)
    # Forks come first: they must not inherit what an export leaves in this process.
    second = in_fork(lambda: literals_of_second_export(request, mode), request.folder).value if twice else None
    result = in_fork(lambda: _checked(Subject.of(request, mode, eager, second)), request.folder)
    if result.ended:
        yield result.ended
    elif result.raised:
        yield result.raised.text
        yield result.raised
    yield from result.value or ()


def _checked(subject: Subject) -> list[Any]:
    return [*(seen for check in CHECKS for seen in check(subject)), tuple(shown(subject))]
