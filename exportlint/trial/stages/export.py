"""export-non-strict and export-strict: export, then the exported program on the sample beside eager."""

from __future__ import annotations

from dataclasses import replace

from exportlint.trial.dynamic.recording import recorded
from exportlint.trial.exporting import export, refused_bare, warning_observations, warnings_kept
from exportlint.trial.lineless import placed_refusal
from exportlint.trial.observation import of_exception
from exportlint.trial.parity import beside_eager
from exportlint.trial.stage import PASSED, REFUSED, Answer, Request, short


def run(request: Request) -> Answer:
    """One call only: second calls and other values are the soundness stage's. The program is there for what follows."""
    if bare := refused_bare(request.loaded, request.mode):
        request.emit(bare)
    with warnings_kept() as warned, recorded() as sizes:
        try:
            exported = export(request.loaded, request.mode)
        except BaseException as exc:  # noqa: BLE001 - torch lets anything through, SystemExit of the model included
            seen = of_exception(exc)
            for part in placed_refusal(request, seen, sizes):
                request.emit(part)
            return Answer(REFUSED, short(f"{seen.error_class}: {seen.first_line}"))
        finally:
            for warning in warning_observations(list(warned)):
                request.emit(warning)
    request.tell({"exported": True})
    answer = beside_eager(request, exported.module)
    return replace(answer, made=replace(exported, sizes=sizes)) if answer.status == PASSED else answer
