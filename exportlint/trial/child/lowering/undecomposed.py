"""Why torch cannot decompose a program that it exported, which every target begins with: what the model writes to."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from exportlint.lowering.backend import Reason

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch
    from torch.export import ExportedProgram
    from torch.fx import Node


def why_undecomposed(program: ExportedProgram, text: str) -> Reason | None:
    """Why torch refuses the program in these words, where that is known."""
    return next(filter(None, (explain(program, text) for explain in _EXPLANATIONS)), None)


# Of torch: of the function that it puts around a program that is given the same memory twice and writes to it, and of
# inductor's trace of that.
_MEMORY_TWICE = ("expected compiled_fn to be GraphModule", "mutating a non-functional tensor with a functional tensor")


def _shared_buffer(program: ExportedProgram, text: str) -> Reason | None:
    """A buffer is written through another name than its own, which the trace keeps as a constant."""
    if not any(sign in text for sign in _MEMORY_TWICE):
        return None
    for buffer, constant in _shared(program):
        nodes = tuple(_writers(_placeholder(program, constant)))
        if nodes:
            words = (
                f"`{buffer}` is written through another name than the module's own, and torch takes the program apart"
            )
            advice = f"write to `self.{buffer}`, the module's own name for it, or export with `strict=True`"
            return Reason(f"{words} only if it is given the memory once", suggestion=advice, nodes=nodes)
    return None


_CONSTANT = re.compile(r"Constant (\S+) is mutated in the forward method")


def _written_constant(program: ExportedProgram, text: str) -> Reason | None:
    """A tensor attribute is written that is no buffer."""
    found = _CONSTANT.search(text)
    names = program.graph_signature.inputs_to_lifted_tensor_constants
    for placeholder, name in names.items():
        if found and name == found[1]:
            words = "forward writes to a tensor that is no buffer, and torch decomposes no program that does"
            advice = "register it as a buffer, `self.register_buffer(…)`, and write to that"
            return Reason(words, suggestion=advice, nodes=tuple(_writers(_placeholder(program, placeholder))))
    return None


_OTHER_SHAPE = ("num_mutated_inp_runtime_indices", "Encountered a set_ on a graph input")


def _reshaped_input(program: ExportedProgram, text: str) -> Reason | None:
    """The shape or the storage of an input is changed in place, which is not a write of values."""
    if not any(sign in text for sign in _OTHER_SHAPE):
        return None
    inputs = (_placeholder(program, name) for name in program.graph_signature.user_inputs if isinstance(name, str))
    nodes = tuple(writer for node in inputs for writer in _writers(node))
    words = "the model changes the shape or the storage of its input in place, which torch's decompositions lose"
    return Reason(words, suggestion="give the result a name of its own: `y = x.transpose(0, 1)`", nodes=nodes)


_EXPLANATIONS: tuple[Callable[[ExportedProgram, str], Reason | None], ...] = (
    _shared_buffer,
    _written_constant,
    _reshaped_input,
)


def _shared(program: ExportedProgram) -> Iterator[tuple[str, str]]:
    """Names of buffers, each with the placeholder of a constant that has the same memory."""
    buffers = {_address(tensor): name for name, tensor in program.named_buffers()}
    for placeholder, name in program.graph_signature.inputs_to_lifted_tensor_constants.items():
        constant = program.constants[name]
        if buffer := buffers.get(_address(constant)):
            yield buffer, placeholder


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() or id(tensor)


def _placeholder(program: ExportedProgram, name: str) -> Node:
    (node,) = (node for node in program.graph.find_nodes(op="placeholder") if node.name == name)
    return node


def _writers(node: Node) -> Iterator[str]:
    """The nodes that write to it, or to a view of it."""
    for user in node.users:
        schema = getattr(user.target, "_schema", None)
        if schema is None:
            continue
        if schema.is_mutable and node in user.args[:1]:
            yield user.name
        elif any(one.alias_info for one in schema.returns):
            yield from _writers(user)
