"""Check: the program uses every input that a caller gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.soundness.subject import Subject


def unused_inputs(subject: Subject) -> Iterator[Observation]:
    """Inputs without users in the graph."""
    if not subject.exported.is_program:
        return
    program = subject.exported.program
    given = {spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"}
    for node in program.graph.nodes:
        if node.op == "placeholder" and node.name in given and not node.users:
            yield Observation("note", details={"note": "unused-input", "input": node.name})
