"""Check: the fake kernels of custom operators, which the tracer believes, say what the operators give."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.custom_operators.examined_operators import wrong_kernels
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.request import StageRequest


def wrong_fake_kernels(request: StageRequest) -> Iterator[Observation]:
    """A note for each that is wrong: "sample" says whether for what the model gives it, or for other sizes only.

    No difference: the program calls the operator itself, so its outputs may be right all the same.
    """
    for wrong in wrong_kernels(request.loaded, request.folder):
        if not wrong.sample and (wrong.place is None or is_installed(wrong.place.path)):
            continue  # what an installed package does with sizes that nobody gives it is not the project's affair
        fields = {"operator": wrong.operator, "arguments": wrong.arguments, "real": wrong.real, "fake": wrong.fake}
        details = {"note": "fake-kernel", **fields, "fake_kernel": wrong.code, "sample": wrong.sample}
        yield Observation("note", details=details).at([wrong.place] if wrong.place else [])
