"""Find where the code of the model stands that needs an operator, or that computes an output."""

from __future__ import annotations

import contextlib
import re
from typing import TYPE_CHECKING

from torch.export.graph_signature import TensorArgument

from exportlint.trial.child.execution.graph_places import place_named_in
from exportlint.trial.protocol.frames import Frame, message_frames

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch


_OPERATOR = re.compile(r"\b([a-z_]\w*)(?:::|\.)(\w+)")


def place_of_operators(program: torch.export.ExportedProgram, text: str) -> tuple[Frame, ...]:
    """Of the first node whose operator the text names (`aten::cumsum`, `aten.cumsum.default`), else of the node that it
    names; with decompositions where the program as it is has no such operator."""
    named = {f"{space}::{operator}" for space, operator in _OPERATOR.findall(text)}
    for one in _programs(program):
        trace = next(_traces_of_operators(one.graph, named), "")
        if frames := message_frames(trace) or place_named_in(one, text):
            return frames
    return ()


def _programs(program: torch.export.ExportedProgram) -> Iterator[torch.export.ExportedProgram]:
    yield program
    with contextlib.suppress(Exception):  # the backend failed for a reason, and this may be it
        yield program.run_decompositions()


def _traces_of_operators(graph: torch.fx.Graph, named: set[str]) -> Iterator[str]:
    for node in graph.nodes:
        schema = getattr(getattr(node.target, "_schema", None), "name", None)
        if schema in named and node.meta.get("stack_trace"):
            yield str(node.meta["stack_trace"])


def place_of_output(program: torch.export.ExportedProgram, position: int) -> tuple[Frame, ...]:
    """Where the model computes the output with this position among the leaves."""
    specs = [spec for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    argument = specs[position].arg if position < len(specs) else None
    wanted = argument.name if isinstance(argument, TensorArgument) else None
    return message_frames(next((n.meta.get("stack_trace") or "" for n in program.graph.nodes if n.name == wanted), ""))
