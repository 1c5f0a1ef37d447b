"""A buffer that the model writes through another name than its own: the trace keeps that one as a constant, and torch
decomposes no program that is given the same memory twice and writes to it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.lowering.backend import Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    import torch
    from torch.export import ExportedProgram

# Of torch: of the function that it puts around such a program, and of inductor's trace of it.
_SIGNS = ("expected compiled_fn to be GraphModule", "mutating a non-functional tensor with a functional tensor")


def shared_buffer(program: ExportedProgram, text: str) -> Reason | None:
    """Why torch refuses the program in these words, if a buffer is the reason."""
    if not any(sign in text for sign in _SIGNS):
        return None
    for buffer, constant in _shared(program):
        nodes = _writers(program, constant)
        if nodes:
            words = (
                f"`{buffer}` is written through another name than the module's own, and torch takes the program apart"
            )
            advice = f"write to `self.{buffer}`, the module's own name for it, or export with `strict=True`"
            return Reason(f"{words} only if it is given the memory once", suggestion=advice, nodes=nodes)
    return None


def _shared(program: ExportedProgram) -> Iterator[tuple[str, str]]:
    """Names of buffers, each with the placeholder of a constant that has the same memory."""
    buffers = {_address(tensor): name for name, tensor in program.named_buffers()}
    for placeholder, name in program.graph_signature.inputs_to_lifted_tensor_constants.items():
        constant = program.constants[name]
        if buffer := buffers.get(_address(constant)):
            yield buffer, placeholder


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() or id(tensor)


def _writers(program: ExportedProgram, placeholder: str) -> tuple[str, ...]:
    (node,) = (node for node in program.graph.find_nodes(op="placeholder") if node.name == placeholder)
    schemas = {user.name: getattr(user.target, "_schema", None) for user in node.users}
    return tuple(name for name, schema in schemas.items() if schema is not None and schema.is_mutable)
