"""Find where the code of the model stands that a failure of a target is about: a node, an operator, a dtype, an output,
or what writes to an input or a buffer."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.export.graph_signature import TensorArgument

from exportlint.trial.child.execution.graph_places import place_named_in
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.child.torch_private.operators import schema_of
from exportlint.trial.child.torch_private.symbolic_shapes import symbols_of_data
from exportlint.trial.child.torch_private.tensors import forget_unplaced_sizes
from exportlint.trial.protocol.frames import Frame, is_installed, message_frames
from exportlint.trial.protocol.torch_messages import is_about_unbounded_size, operators_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from torch.export import ExportedProgram

    from exportlint.lowering.backend import Reason
    from exportlint.trial.protocol.observation import Observation


def placed(program: ExportedProgram, seen: Observation, reason: Reason, lowering: str) -> Observation:
    """An exception of a target at the line that it is about: as the target knows it, as the exception itself says, else
    as its words name it."""
    if frames := message_frames(reason.trace) or place_of_nodes(program, reason.nodes):
        return seen.at(frames)
    seen = seen.at(frames_of_the_model(program, seen.frames, lowering))
    if seen.user is not None:
        return seen
    seen = seen.at(message_frames(seen.text))
    if seen.user is not None:
        return seen
    words = " ".join((seen.text, *reason.operators))
    frames = place_of_operators(program, words) or place_of_dtype(program, reason.dtype)
    frames = frames or place_of_unbounded_size(program, words)
    return seen.at(frames) if frames else seen


def place_of_operators(program: ExportedProgram, text: str) -> tuple[Frame, ...]:
    """Of the first node whose operator the text names (`aten::cumsum`, `aten.cumsum.default`), else of the node that it
    names; with decompositions where the program as it is has no such operator."""
    named = set(operators_named(text))
    for one in _programs(program):
        frames = _first_place(one, lambda node: _operator(node) in named)
        if frames := frames or place_named_in(one, text):
            return frames
    return ()


def frames_of_the_model(program: ExportedProgram, frames: Iterable[Frame], lowering: str) -> tuple[Frame, ...]:
    """Without those of the lowering (`module:Class`) and of its target's packages, which are no part of the model.

    What is installed is the model's where the program was traced through it.
    """
    traced = {
        frame.path for node in program.graph.nodes for frame in message_frames(node.meta.get("stack_trace") or "")
    }
    own = getattr(sys.modules.get(lowering.partition(":")[0].partition(".")[0]), "__file__", None) or ""
    home = str(Path(own).parent) if own.endswith("__init__.py") else own
    return tuple(
        frame
        for frame in frames
        if frame.path in traced or not (is_installed(frame.path) or (home and frame.path.startswith(home)))
    )


def _programs(program: ExportedProgram) -> Iterator[ExportedProgram]:
    yield program
    with contextlib.suppress(Exception):  # the backend failed for a reason, and this may be it
        yield decomposed(program)


def decomposed(program: ExportedProgram, table: dict[Any, Any] | None = None) -> ExportedProgram:
    """In operators of Core ATen, or by a table; also after a target has traced it, which may leave sizes of data open
    that torch would then miss in the outputs."""
    for node in program.graph.nodes:
        forget_unplaced_sizes(node.meta.get("val"))
    return program.run_decompositions(table)


def _first_place(program: ExportedProgram, is_wanted: Callable[[torch.fx.Node], bool]) -> tuple[Frame, ...]:
    """Of the first such node that has a stack trace, in the graph or in one of those inside of it."""
    for node in _every_node(program):
        if node.meta.get("stack_trace") and is_wanted(node):
            return message_frames(str(node.meta["stack_trace"]))
    return ()


def _every_node(program: ExportedProgram) -> Iterator[torch.fx.Node]:
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield from module.graph.nodes


def _operator(node: torch.fx.Node) -> str | None:
    return getattr(schema_of(node.target), "name", None)


def place_of_nodes(program: ExportedProgram, nodes: Sequence[str]) -> tuple[Frame, ...]:
    """Of the first of these nodes of the program that has a line."""
    traces = {node.name: node.meta.get("stack_trace") or "" for node in program.graph.nodes}
    return next((frames for name in nodes if (frames := message_frames(traces.get(name, "")))), ())


def place_of_draw(program: ExportedProgram) -> tuple[Frame, ...]:
    """The first operator that draws random numbers."""
    seeded = torch.Tag.nondeterministic_seeded
    return _first_place(program, lambda node: seeded in getattr(node.target, "tags", ()))


def place_of_dtype(program: ExportedProgram, dtype: str) -> tuple[Frame, ...]:
    """Of the first node that gives or is given a tensor of this dtype, or has it as an argument."""
    wanted = getattr(torch, dtype, None)
    if not isinstance(wanted, torch.dtype):
        return ()
    return _first_place(program, lambda node: wanted in {*_dtypes([node, *node.all_input_nodes]), *_given(node)})


def _dtypes(nodes: Sequence[torch.fx.Node]) -> Iterator[torch.dtype]:
    for node in nodes:
        value = node.meta.get("val")
        for leaf in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(leaf, torch.Tensor):
                yield leaf.dtype


def _given(node: torch.fx.Node) -> Iterator[torch.dtype]:
    yield from (leaf for leaf in pytree.tree_leaves((node.args, node.kwargs)) if isinstance(leaf, torch.dtype))


def place_of_unbounded_size(program: ExportedProgram, text: str) -> tuple[Frame, ...]:
    """Of the node that makes the first size that is read from data and that nothing bounds, where the text is about
    one: a target names it by a symbol of its own."""
    if not is_about_unbounded_size(text):
        return ()
    open_ends = {str(name) for name, span in program.range_constraints.items() if not _is_bounded(span)}
    return _first_place(program, lambda node: bool(symbols_of_data(node.meta.get("val")) & open_ends))


def _is_bounded(span: Any) -> bool:
    """As targets ask for it, which plan their memory: with a size that a tensor can have."""
    try:
        return int(span.upper) < _MOST_ELEMENTS
    except (TypeError, ValueError, OverflowError, AttributeError):  # an infinity of torch's or sympy's
        return False


_MOST_ELEMENTS = 1 << 48


def place_of_output(program: ExportedProgram, position: int) -> tuple[Frame, ...]:
    """Where the model computes the output with this position among the leaves."""
    specs = [spec for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"]
    argument = specs[position].arg if position < len(specs) else None
    return place_of_node(program, argument.name) if isinstance(argument, TensorArgument) else ()


def input_names(program: ExportedProgram) -> list[str]:
    """Of the leaves of the inputs, in their order."""
    return [spec.arg.name for spec in program.graph_signature.input_specs if spec.kind.name == "USER_INPUT"]


def place_of_node(program: ExportedProgram, name: str | None) -> tuple[Frame, ...]:
    """Of the node with this name."""
    return message_frames(next((n.meta.get("stack_trace") or "" for n in program.graph.nodes if n.name == name), ""))


INPUT, BUFFER = "USER_INPUT_MUTATION", "BUFFER_MUTATION"


def writes(program: ExportedProgram, kind: str) -> dict[str, tuple[Frame, ...]]:
    """The inputs, or the buffers, that the model writes, each with the line that does it.

    Only a program without in-place operators says it in its signature.
    """
    functional = decomposed(program, {})
    return {
        str(spec.target): place_of_node(functional, spec.arg.name)
        for spec in functional.graph_signature.output_specs
        if spec.kind.name == kind and isinstance(spec.arg, TensorArgument)
    }
