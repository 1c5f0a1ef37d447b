"""Find where the source of a node of an exported graph stands."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.protocol.frames import Frame, message_frames
from exportlint.trial.protocol.torch_messages import node_names, node_of_line

if TYPE_CHECKING:
    from collections.abc import Iterator


def constant_place(program: Any, name: str) -> tuple[Frame, ...]:
    """Where the code stands that first uses a constant of the program."""
    inputs = {constant: node for node, constant in program.graph_signature.inputs_to_lifted_tensor_constants.items()}
    node = next((node for node in program.graph.nodes if node.name == inputs.get(name)), None)
    users = list(node.users) if node is not None else []
    return message_frames(users[0].meta.get("stack_trace") or "") if users else ()


def place_named_in(program: Any, text: str) -> tuple[Frame, ...]:
    """Where the code stands whose node an error of torch names.

    A node without source stands for its subgraph; one that has none for what comes before it.
    """
    nodes = list(program.graph.nodes)
    names = [node.name for node in nodes]
    for name in node_names(text):
        if name in names:
            index = names.index(name)
            near = [nodes[index], *_inside(program, nodes[index]), *reversed(nodes[:index])]
            traces = (node.meta.get("stack_trace") for node in near)
            return message_frames(next((trace for trace in traces if trace), ""))
    return ()


def _inside(program: Any, node: Any) -> Iterator[Any]:
    """The nodes of the subgraphs that a node is given."""
    for given in node.all_input_nodes:
        graph = getattr(program.graph_module, str(given.target), None) if given.op == "get_attr" else None
        yield from graph.graph.nodes if isinstance(graph, torch.fx.GraphModule) else ()


def source_of(program: Any, exc: BaseException) -> tuple[Frame, ...]:
    """Where the code stands whose node raised while an exported program ran; empty when no node can be named."""
    if not isinstance(program, torch.fx.GraphModule):
        return ()
    nodes = {node.name: node for node in program.graph.nodes}
    for frame in reversed(traceback.extract_tb(exc.__traceback__)):
        name = node_of_line(frame.filename, frame.line or "")
        if name in nodes:
            return message_frames(nodes[name].meta.get("stack_trace") or "")
    return ()
