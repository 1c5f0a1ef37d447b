"""save-load: the exported program is written, read again, and run beside eager."""

from __future__ import annotations

import torch

from exportlint.trial.births import placed_at_birth
from exportlint.trial.exporting import export
from exportlint.trial.observation import of_exception
from exportlint.trial.parity import beside_eager
from exportlint.trial.stage import REFUSED, SKIPPED, Answer, Request, short


def run(request: Request) -> Answer:
    """The detail is the size of the file."""
    exported = request.made or export(request.loaded, request.mode)
    if not exported.is_program:
        return Answer(SKIPPED, "the target's own export call gives no ExportedProgram")
    file = request.folder / "program.pt2"
    try:
        torch.export.save(exported.program, file)
        program = torch.export.load(file)
    except BaseException as exc:  # noqa: BLE001 - torch lets anything through
        seen = placed_at_birth(request, of_exception(exc))
        request.emit(seen)
        return Answer(REFUSED, short(f"{seen.error_class}: {seen.first_line}"))
    return beside_eager(request, program.module, f"{file.stat().st_size / 1000:.1f} kB")
