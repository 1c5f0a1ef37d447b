"""Find where the source of a node of an exported graph stands."""

from __future__ import annotations

import re
import traceback
from typing import Any

import torch

from exportlint.trial.protocol.frames import Frame, message_frames


def constant_place(program: Any, name: str) -> tuple[Frame, ...]:
    """Where the code stands that first uses a constant of the program."""
    inputs = {constant: node for node, constant in program.graph_signature.inputs_to_lifted_tensor_constants.items()}
    node = next((node for node in program.graph.nodes if node.name == inputs.get(name)), None)
    users = list(node.users) if node is not None else []
    return message_frames(users[0].meta.get("stack_trace") or "") if users else ()


_ASSIGNED = re.compile(r"\s*(\w+)\s*(?::[^=]*)?=")


def source_of(program: Any, exc: BaseException) -> tuple[Frame, ...]:
    """Where the code stands whose node raised while an exported program ran; empty when no node can be named."""
    if not isinstance(program, torch.fx.GraphModule):
        return ()
    nodes = {node.name: node for node in program.graph.nodes}
    for frame in reversed(traceback.extract_tb(exc.__traceback__)):
        found = _ASSIGNED.match(frame.line or "") if frame.filename.startswith("<eval_with_key>") else None
        if found and found[1] in nodes:
            return message_frames(nodes[found[1]].meta.get("stack_trace") or "")
    return ()
