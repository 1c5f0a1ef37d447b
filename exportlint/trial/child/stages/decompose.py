"""decompose: the exported program in Core ATen operators, run beside eager. What compilers for devices start from."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.graph_places import place_named_in
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import from_program
from exportlint.trial.child.lowering.operator_places import place_of_nodes
from exportlint.trial.child.lowering.undecomposed import why_undecomposed
from exportlint.trial.child.soundness.differences import compared_on_sample
from exportlint.trial.child.torch_private.operators import is_operator
from exportlint.trial.protocol.frames import message_frames
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import REFUSED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Iterator


# For a script that shows the failure without exportlint: from `program` to `exported`, which is called as the model is.
REPRO = "program = program.run_decompositions()\nexported = program.module()\n"


@from_program
def run(request: StageRequest, program: Any) -> StageAnswer:
    """Operators that stay outside of the core set are notes, each at the first line that needs it."""
    try:
        decomposed = program.run_decompositions()
    except BaseException as exc:  # noqa: BLE001 - torch lets anything through
        request.emit(_refusal(program, of_exception(exc)))
        return StageAnswer(REFUSED, None)
    outside = list(_outside_core(decomposed))
    for seen in outside:
        request.emit(seen)
    names = ", ".join(seen.details["operator"] for seen in outside)
    return compared_on_sample(
        request, decomposed.module, short(f"not in Core ATen: {names}") if names else "all Core ATen"
    )


def _refusal(program: Any, seen: Observation) -> Observation:
    """At the line that it is about; with what to write instead where that is known."""
    if reason := why_undecomposed(program, seen.text):
        seen = seen.with_details(summary=reason.text, suggestion=reason.suggestion)
        return seen.at(place_of_nodes(program, reason.nodes))
    return seen if seen.user else seen.at(place_named_in(program, seen.text))


def _outside_core(program: Any) -> Iterator[Observation]:
    known: set[str] = set()
    for node in program.graph.nodes:
        operator = node.target
        if not is_operator(operator) or torch.Tag.core in operator.tags:
            continue
        name = str(operator)
        if name not in known and not _is_check(name):
            known.add(name)
            frames = message_frames(node.meta.get("stack_trace") or "")
            yield Observation("note", details={"note": "non-core", "operator": name}).at(frames)


def _is_check(name: str) -> bool:
    """Assertions on sizes and values, which backends drop."""
    return name.startswith(("aten._assert", "aten.sym_constrain", "aten.sym_"))
