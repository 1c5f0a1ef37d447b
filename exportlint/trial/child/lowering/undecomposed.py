"""Why torch cannot decompose a program that it exported, which every target begins with: what the model writes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.lowering.backend import Reason
from exportlint.trial.child.torch_private.operators import schema_of
from exportlint.trial.protocol.torch_messages import Undecomposed, undecomposed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import torch
    from torch.export import ExportedProgram
    from torch.fx import Node


def why_undecomposed(program: ExportedProgram, text: str) -> Reason | None:
    """Why torch refuses the program in these words, where that is known."""
    said = undecomposed(text)
    return next(filter(None, (explain(program, said) for explain in _EXPLANATIONS)), None)


def _shared_buffer(program: ExportedProgram, said: Undecomposed) -> Reason | None:
    """A buffer is written through another name than its own, which the trace keeps as a constant."""
    if not said.memory_twice:
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


def _written_constant(program: ExportedProgram, said: Undecomposed) -> Reason | None:
    """A tensor attribute is written that is no buffer."""
    names = program.graph_signature.inputs_to_lifted_tensor_constants
    written = [place for place, name in names.items() if name == said.constant]
    nodes = tuple(writer for place in written for writer in _writers(_placeholder(program, place)))
    if not written and said.some_constant:
        nodes = tuple(_constant_writers(program))
    if not nodes:
        return None
    words = "forward writes to a tensor that is no buffer, and torch decomposes no program that does"
    return Reason(
        words, suggestion="register it as a buffer, `self.register_buffer(…)`, and write to that", nodes=nodes
    )


def _constant_writers(program: ExportedProgram) -> Iterator[str]:
    """The nodes that write to a constant, or to what is computed of constants alone: inductor computes that at once."""
    constant = {_placeholder(program, name) for name in program.graph_signature.inputs_to_lifted_tensor_constants}
    for node in program.graph.nodes:
        if node.op == "call_function" and node.all_input_nodes and node.all_input_nodes[0] in constant:
            schema = schema_of(node.target)
            if schema is not None and schema.is_mutable:
                yield node.name
            elif constant.issuperset(node.all_input_nodes):
                constant.add(node)


def _reshaped_input(program: ExportedProgram, said: Undecomposed) -> Reason | None:
    """The shape or the storage of an input is changed in place, which is not a write of values."""
    if not said.other_shape:
        return None
    inputs = (_placeholder(program, name) for name in program.graph_signature.user_inputs if isinstance(name, str))
    nodes = tuple(writer for node in inputs for writer in _writers(node))
    words = "the model changes the shape or the storage of its input in place, which torch's decompositions lose"
    return Reason(words, suggestion="give the result a name of its own: `y = x.transpose(0, 1)`", nodes=nodes)


_HIGHER_ORDER = ("cond", "while_loop")


def _number_in_branch(program: ExportedProgram, said: Undecomposed) -> Reason | None:
    """A function that `torch.cond` or `while_loop` is given makes a tensor of Python numbers."""
    if not said.number_in_branch:
        return None
    calls = tuple(node.name for node in program.graph.nodes if _named(node) in _HIGHER_ORDER)
    words = "a function that is given to control flow makes a tensor of Python numbers, which torch does not decompose"
    advice = "make it before the call and pass it in, or use the number itself: `t + 1.0` for `t + torch.tensor(1.0)`"
    return Reason(words, suggestion=advice, nodes=calls) if calls else None


def _named(node: Node) -> str:
    return getattr(node.target, "__name__", "") if node.op == "call_function" else ""


def _carried_twice(program: ExportedProgram, said: Undecomposed) -> Reason | None:
    """One tensor is given to control flow in two places."""
    if not said.carried_twice:
        return None
    calls = tuple(node.name for node in program.graph.nodes if _named(node) in _HIGHER_ORDER)
    words = f"`{said.carried_twice}` is given the same memory twice, or returns what it is given"
    return Reason(words, suggestion="pass and return `t.clone()` for one of them", nodes=calls)


def _unnamed_class(_program: ExportedProgram, said: Undecomposed) -> Reason | None:
    """The inputs or outputs hold a class that torch has no name for, so the program cannot be written to a file."""
    dotted = said.namedtuple or said.other_class
    if dotted is None:
        return None
    name = dotted.rpartition(".")[2]
    words = f"an input or output is a `{name}`, and the program cannot be saved: in a file torch has no name for it"
    known = f"`torch.utils._pytree._register_namedtuple({name}, serialized_type_name={name!r})`"
    advice = known if said.namedtuple else f"give `serialized_type_name={name!r}` where the class is registered"
    return Reason(words, suggestion=f"{advice}, or take and return plain tuples")


_EXPLANATIONS: tuple[Callable[[ExportedProgram, Undecomposed], Reason | None], ...] = (
    _shared_buffer,
    _written_constant,
    _reshaped_input,
    _number_in_branch,
    _carried_twice,
    _unnamed_class,
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
        schema = schema_of(user.target)
        if schema is None:
            continue
        if schema.is_mutable and node in user.args[:1]:
            yield user.name
        elif any(one.alias_info for one in schema.returns):
            yield from _writers(user)
