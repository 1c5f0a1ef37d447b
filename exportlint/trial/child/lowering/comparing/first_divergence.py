"""Find the first operator whose result an artefact gets otherwise than torch: the program is compiled once more with
intermediate results among its outputs."""

from __future__ import annotations

import copy
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, OutputKind, OutputSpec, TensorArgument
from torch.utils import _pytree as pytree

from exportlint.lowering.arrays import TensorBytes, array_leaves
from exportlint.trial.child.lowering.comparing.first_mismatch import first_mismatch, unequal
from exportlint.trial.child.lowering.comparing.input_calls import InputCall, expected, input_leaves, module_of
from exportlint.trial.child.lowering.operator_places import decomposed
from exportlint.trial.child.lowering.running.fresh_process import FreshProcess
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.frames import Frame, message_frames

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.lowering.backend import Lowering, Tolerance
    from exportlint.trial.child.lowering.proved import ProofSubject


_MOST_NODES = 120  # outputs that are added at once
_MOST_BYTES = 64 << 20  # of what they hold
_ROUNDS = 3
_SECONDS = 90.0  # no further round is begun after these


@dataclass(frozen=True)
class Divergence:
    """The first operator that differs beyond the tolerance, from inputs that do not.

    fields  operator, how it differs, and whether the output differs at all when intermediate results are kept
    frames  the operator's source
    """

    fields: dict[str, Any]
    frames: tuple[Frame, ...]


FUSED = Divergence({"only_fused": True}, ())
LATER = Divergence({"only_later": True}, ())


def first_divergence(subject: ProofSubject, artefact: Path, call: InputCall, tolerance: Tolerance) -> Divergence | None:
    """In one call of its own. `FUSED`: nothing differs once results are kept; `LATER`: nothing does in such a call of
    the artefact either; None: it could not be found."""
    began = time.monotonic()
    try:
        program = decomposed(subject.program)
        nodes = _observable(program)
        for _ in range(_ROUNDS):
            chosen = _spread(nodes)
            found = _first_wrong(subject, program, chosen, call, tolerance)
            if found is None:
                return _without_operator(subject, artefact, call, tolerance) if len(chosen) == len(nodes) else None
            place, fields = found
            before = nodes.index(chosen[place - 1]) + 1 if place else 0
            nodes = nodes[before : nodes.index(chosen[place]) + 1]
            if len(nodes) == 1:
                return _at(nodes[0], fields)
            if time.monotonic() - began > _SECONDS:
                return None
    except Exception:  # noqa: BLE001 - it explains a difference, which stands without it
        return None
    return None


def _without_operator(
    subject: ProofSubject, artefact: Path, call: InputCall, tolerance: Tolerance
) -> Divergence | None:
    """No operator differs: does the artefact itself, in a first call?"""
    spec = subject.program.call_spec.in_spec
    ours = in_fork(lambda: expected(subject.build_model(), [call], spec), subject.folder.parent).value
    leaves = array_leaves(input_leaves(call.given, spec))
    theirs = _ran(subject, subject.lowering, artefact, leaves)
    if ours is None or theirs is None:
        return None
    return FUSED if first_mismatch(ours, [(theirs, [])], tolerance) else LATER


def _at(node: torch.fx.Node, fields: dict[str, Any]) -> Divergence:
    return Divergence({"operator": str(node.target), **fields}, message_frames(node.meta.get("stack_trace") or ""))


def _observable(program: ExportedProgram) -> list[torch.fx.Node]:
    """Nodes that give one tensor of a fixed dtype that every runtime can hand out."""
    return [
        node
        for node in program.graph.nodes
        if node.op == "call_function"
        and isinstance(node.meta.get("val"), torch.Tensor)
        and not node.meta["val"].dtype.is_complex
    ]


def _spread(nodes: Sequence[torch.fx.Node]) -> list[torch.fx.Node]:
    """So many of them that their results can be kept, evenly, the last one included."""
    size = sum(_bytes(node) for node in nodes)
    most = min(_MOST_NODES, max(1, len(nodes) * _MOST_BYTES // max(size, 1)))
    step = -(-len(nodes) // most)
    return list(nodes[::-1][::step][::-1])


def _bytes(node: torch.fx.Node) -> int:
    value = node.meta["val"]
    sizes = [size if isinstance(size, int) else getattr(size.node, "hint", None) or 1 for size in value.shape]
    return int(torch.Size(sizes).numel()) * int(value.element_size())


def _first_wrong(
    subject: ProofSubject,
    program: ExportedProgram,
    chosen: Sequence[torch.fx.Node],
    call: InputCall,
    tolerance: Tolerance,
) -> tuple[int, dict[str, Any]] | None:
    """The number of the first chosen node that differs, and how."""
    watched = with_results(program, chosen)
    spec = program.call_spec.in_spec
    ours = in_fork(lambda: expected(module_of(watched), [call], spec)[0], subject.folder.parent).value
    theirs = _run(subject, watched, array_leaves(input_leaves(call.given, spec)))
    if ours is None or ours.raised or theirs is None:
        message = "the program with its results kept does not run"
        raise RuntimeError(message)
    kept = [leaf for leaf in theirs if isinstance(leaf, TensorBytes)][-len(chosen) :]
    for number, (one, other) in enumerate(zip(ours.outputs[-len(chosen) :], kept, strict=True)):
        if fields := unequal(one, other, tolerance):
            return number, fields
    return None


def with_results(program: ExportedProgram, nodes: Sequence[torch.fx.Node]) -> ExportedProgram:
    """The same program, whose outputs are followed by the results of the nodes."""
    graph_module = copy.deepcopy(program.graph_module)
    inside = {node.name: node for node in graph_module.graph.nodes}
    output = graph_module.graph.output_node()
    output.args = ((*output.args[0], *(inside[node.name] for node in nodes)),)
    graph_module.recompile()
    added = [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(name=node.name), None) for node in nodes]
    signature = program.graph_signature
    first, *others = program.module_call_graph
    leaves = [*range(program.call_spec.out_spec.num_leaves), *nodes]
    own = replace(first.signature, outputs=[], out_spec=pytree.tree_structure(leaves))
    return ExportedProgram(
        root=graph_module,
        graph=graph_module.graph,
        graph_signature=ExportGraphSignature(signature.input_specs, [*signature.output_specs, *added]),
        state_dict=program.state_dict,
        range_constraints=program.range_constraints,
        module_call_graph=[replace(first, signature=own), *others],
        example_inputs=program.example_inputs,
        constants=program.constants,
        verifiers=[program.verifier],
    )


def _run(subject: ProofSubject, program: ExportedProgram, leaves: Sequence[Any]) -> list[Any] | None:
    lowering = type(subject.lowering)(subject.lowering.settings)
    folder = Path(tempfile.mkdtemp(prefix="results-", dir=subject.folder.parent))
    return _ran(subject, lowering, lowering.compile(program, folder), leaves)


def _ran(subject: ProofSubject, lowering: Lowering, artefact: Path, leaves: Sequence[Any]) -> list[Any] | None:
    with FreshProcess(subject.name, lowering, subject.folder.parent) as process:
        results = process.run(artefact, lowering.facts, [leaves], subject.seconds)
    return results.calls[0][0] if results.ok else None
