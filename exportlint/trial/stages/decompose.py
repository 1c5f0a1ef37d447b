"""decompose: the exported program in Core ATen operators, run beside eager. What compilers for devices start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.exporting import export
from exportlint.trial.observation import Observation, message_frames, of_exception, placed
from exportlint.trial.parity import beside_eager
from exportlint.trial.stage import REFUSED, SKIPPED, Answer, Request, short

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(request: Request) -> Answer:
    """Operators that stay outside of the core set are notes, each at the first line that needs it."""
    exported = request.made or export(request.loaded, request.mode)
    if not exported.is_program:
        return Answer(SKIPPED, "the target's own export call gives no ExportedProgram")
    try:
        program = exported.program.run_decompositions()
    except BaseException as exc:  # noqa: BLE001 - torch lets anything through
        seen = of_exception(exc)
        request.emit(seen)
        return Answer(REFUSED, short(f"{seen.error_class}: {seen.first_line}"))
    outside = list(_outside_core(program))
    for seen in outside:
        request.emit(seen)
    names = ", ".join(seen.details["operator"] for seen in outside)
    return beside_eager(request, program.module, short(f"not in Core ATen: {names}") if names else "all Core ATen")


def _outside_core(program: Any) -> Iterator[Observation]:
    known: set[str] = set()
    for node in program.graph.nodes:
        operator = node.target
        if not isinstance(operator, torch._ops.OpOverload) or torch.Tag.core in operator.tags:  # noqa: SLF001 - no public name
            continue
        name = str(operator)
        if name not in known and not _is_check(name):
            known.add(name)
            text = f"`{name}` is not in the Core ATen operator set: a backend for devices may not have it"
            frames = message_frames(node.meta.get("stack_trace") or "")
            yield placed("note", text, frames, details={"note": "non-core", "operator": name})


def _is_check(name: str) -> bool:
    """Assertions on sizes and values, which backends drop."""
    return name.startswith(("aten._assert", "aten.sym_constrain", "aten.sym_"))
