"""Check: what the tracer believes of custom operators is so: their fake kernels, and what they write into."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.child.custom_operators.examined_operators import wrong_operators
from exportlint.trial.child.custom_operators.undeclared_writes import UndeclaredWrite
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.request import StageRequest


def wrong_custom_operators(request: StageRequest) -> Iterator[Observation]:
    """A note for each fake kernel that is wrong ("sample" says whether for what the model gives it, or for other sizes
    only), and for each operator that changes an argument which its schema does not name.

    No difference: the program calls the operator itself, so its outputs may be right all the same.
    """
    for wrong in wrong_operators(request.loaded, request.folder):
        if isinstance(wrong, UndeclaredWrite):
            written = {"note": "undeclared-write", "operator": wrong.operator, "arguments": wrong.arguments}
            yield Observation("note", details=written).at([wrong.place] if wrong.place else [])
            continue
        if not wrong.sample and (wrong.place is None or is_installed(wrong.place.path)):
            continue  # what an installed package does with sizes that nobody gives it is not the project's affair
        fields = {"operator": wrong.operator, "arguments": wrong.arguments, "real": wrong.real, "fake": wrong.fake}
        details = {"note": "fake-kernel", **fields, "fake_kernel": wrong.code, "sample": wrong.sample}
        yield Observation("note", details=details).at([wrong.place] if wrong.place else [])
