"""export-non-strict and export-strict: export, then the exported program on the sample beside eager."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.births import at_birth, birth, unknown_class
from exportlint.trial.calls import inputs_of
from exportlint.trial.dynamic.declared import is_violation, violations
from exportlint.trial.dynamic.recording import recorded
from exportlint.trial.exporting import export, refused_bare, warning_observations, warnings_kept
from exportlint.trial.isolate import in_fork
from exportlint.trial.observation import Observation, of_exception
from exportlint.trial.parity import beside_eager
from exportlint.trial.stage import PASSED, REFUSED, Answer, Request, short

if TYPE_CHECKING:
    from exportlint.trial.dynamic.recording import Recording


def run(request: Request) -> Answer:
    """One call only: second calls and other values are the soundness stage's. The program is there for what follows."""
    if bare := refused_bare(request.loaded, request.mode):
        request.emit(bare)
    with warnings_kept() as warned, recorded() as sizes:
        try:
            exported = export(request.loaded, request.mode)
        except BaseException as exc:  # noqa: BLE001 - torch lets anything through, SystemExit of the model included
            seen = of_exception(exc)
            for part in _placed(request, seen, sizes):
                request.emit(part)
            return Answer(REFUSED, short(f"{seen.error_class}: {seen.first_line}"))
        finally:
            for warning in warning_observations(list(warned)):
                request.emit(warning)
    request.tell({"exported": True})
    answer = beside_eager(request, exported.module)
    return replace(answer, made=replace(exported, sizes=sizes)) if answer.status == PASSED else answer


def _placed(request: Request, seen: Observation, sizes: Recording) -> list[Observation]:
    """Two refusals come without the line that helps: that which builds an object that torch cannot flatten, and those
    that break what is declared of sizes."""
    name = unknown_class(seen)
    if is_violation(seen):
        return violations(request.loaded, sizes, seen)
    if name is None or seen.user_path:
        return [seen]

    def eager() -> Any:
        args, kwargs = inputs_of(request.loaded, 0)
        model = request.loaded.eager()
        return birth(lambda: model(*args, **kwargs), name)

    return [at_birth(seen, in_fork(eager, request.folder).value or (), name)]
