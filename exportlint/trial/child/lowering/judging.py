"""Judge what an artefact gave beside what eager gives, and say why where they differ."""

from __future__ import annotations

import copy
import tempfile
import time
from dataclasses import dataclass, replace
from itertools import chain, permutations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import ExportGraphSignature, OutputKind, OutputSpec, TensorArgument

from exportlint.lowering.arrays import TensorBytes, array_leaves
from exportlint.trial.child.lowering.artefact_processes import FreshProcess
from exportlint.trial.child.lowering.comparing import Mismatch, first_mismatch, lost_writes, unequal
from exportlint.trial.child.lowering.operator_places import (
    BUFFER,
    INPUT,
    decomposed,
    input_names,
    place_of_draw,
    place_of_output,
    writes,
)
from exportlint.trial.child.lowering.proof_subject import (
    AGAIN,
    SAMPLE,
    EagerReference,
    Expected,
    InputCall,
    ProofSubject,
    Proved,
    expected,
    input_leaves,
    module_of,
    shapes_of,
    shapes_only,
)
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.frames import Frame, message_frames
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from exportlint.lowering.backend import Lowering, Tolerance
    from exportlint.trial.child.execution.inputs.input_sets import Inputs


def judged(
    subject: ProofSubject, reference: EagerReference, got: _Got, notes: tuple[Observation, ...], data: dict[str, Any]
) -> Proved:
    ours, theirs = reference.eager, got
    detail = f"{size_text(data)}, run in a fresh process: {', '.join(_labels(reference.calls))}"
    if not reference.steady:
        # Random by design: only what does not depend on the draw can be held against it.
        ours = shapes_only(ours)
        theirs = [(shapes_of(outputs), shapes_of(inputs)) for outputs, inputs in theirs]
        detail += "; eager gives other values in every run, so only shapes were compared"
        if same := _draws_once(reference, got):
            same = same.at(place_of_draw(subject.program))
            return Proved(DIFFERS, None, (same, *notes), {**data, "step": "compare"})
    found = first_mismatch(ours, theirs, tolerance_of(subject.lowering))
    if found is None:
        lost = tuple(lost_writes(subject.program, reference.written, tolerance_of(subject.lowering)))
        if lost:
            return Proved(DIFFERS, None, (*lost, *notes), {**data, "step": "compare"})
        return Proved(PASSED, detail, notes, data)
    seen = _difference(subject, reference, found)
    if reference.steady:
        seen = _explained(subject, reference, got, found, seen, Path(data["artefact"]))
    return Proved(DIFFERS, None, (seen, *notes), {**data, "step": "compare"})


_Got = list[tuple[list[Any], list[Any]]]


def _draws_once(reference: EagerReference, got: _Got) -> Observation | None:
    """Of two calls with the same inputs, which eager draws for anew: does the artefact give both the same?"""
    labels = [call.inputs for call in reference.calls]
    if AGAIN not in labels:
        return None
    first, again = reference.eager[0].outputs, reference.eager[labels.index(AGAIN)].outputs
    theirs, theirs_again = got[0][0], got[labels.index(AGAIN)][0]
    drawn = [i for i, pair in enumerate(zip(first, again, strict=False)) if unequal(*pair, {})]
    pairs = [pair for place, pair in enumerate(zip(theirs, theirs_again, strict=False)) if place in drawn]
    if not pairs or any(unequal(*pair, {}) for pair in pairs):
        return None
    details = {"check": "drawn-once", "inputs": AGAIN, "output": reference.eager[0].paths[drawn[0]], "step": "compare"}
    return Observation("difference", details=details)


def _labels(calls: Sequence[InputCall]) -> list[str]:
    labels = [call.inputs for call in calls]
    return [f"{SAMPLE} twice", *labels[2:]] if AGAIN in labels else labels


def tolerance_of(lowering: Lowering) -> Mapping[str, tuple[float, float]]:
    """The target's, unless the configuration has one: a number stands for the relative and the absolute one."""
    asked = lowering.settings.get("tolerance")
    return dict.fromkeys(lowering.tolerance, (asked, asked)) if asked is not None else lowering.tolerance


def _difference(subject: ProofSubject, reference: EagerReference, found: Mismatch) -> Observation:
    call = reference.calls[found.call]
    check = "input-effect" if found.of == "input" else "state" if call.inputs == AGAIN else "output"
    where = {"input_set": 0, "call": found.call, "inputs": call.inputs, "output": found.path, "step": "compare"}
    frames = () if check == "input-effect" else place_of_output(subject.program, found.position)
    return Observation("difference", details={"check": check, **where, **found.fields}).at(frames)


def _explained(
    subject: ProofSubject, reference: EagerReference, got: _Got, found: Mismatch, seen: Observation, artefact: Path
) -> Observation:
    """With what makes it differ, at the line of that: a cause that was tried, else the first operator that differs."""
    tolerance = tolerance_of(subject.lowering)
    if cause := cause_of(subject, reference, got, found, tolerance):
        fields, frames = cause
        seen = seen.with_details(**fields, suggestion=subject.lowering.advice.get(fields["cause"], ""))
        return seen.at(frames) if frames else seen
    if seen.check != "output" or seen.details["what"] == "structure":
        return seen
    part = first_divergence(subject, artefact, reference.calls[found.call], tolerance)
    if part is None:
        return seen
    seen = seen.with_details(first=part.fields)
    return seen.at(part.frames) if part.frames else seen


def size_text(data: Mapping[str, Any]) -> str:
    return f"{data['bytes'] / 1000:,.1f} kB"


# Say what makes an artefact differ from eager: each cause is tried on the exported program, and stands where it gives
# what the artefact gave.


# Why, as fields of an observation, and where the model does what the target lost.
Cause = tuple[dict[str, Any], tuple["Frame", ...]]
_MOST_TRIED = 8  # buffers or inputs that are tried one by one
_MOST_ORDERED = 5  # outputs whose orders are all tried


def cause_of(
    subject: ProofSubject, reference: EagerReference, got: _Got, found: Mismatch, tolerance: Tolerance
) -> Cause | None:
    """The first that explains every call up to the one that differs; None where none does."""
    calls = slice(0, found.call + 1)
    if first_mismatch(reference.exported[calls], got[calls], tolerance) is None:
        return {"cause": "as-exported"}, ()
    if found.of == "input":
        return _not_written(subject, reference, got, found, tolerance)
    if order := _other_order(reference.eager[found.call], got[found.call][0], tolerance):
        return {"cause": "order", "order": order}, ()
    tried = in_fork(lambda: _by_trying(subject, reference.calls[calls], got[calls], tolerance), subject.folder.parent)
    cause: Cause | None = tried.value
    return cause


def _not_written(
    subject: ProofSubject, reference: EagerReference, got: _Got, found: Mismatch, tolerance: Tolerance
) -> Cause | None:
    """Of an input that eager changes: did the artefact leave it as it was given?"""
    given = array_leaves(input_leaves(reference.calls[found.call].given, subject.program.call_spec.in_spec))
    if unequal(given[found.position], got[found.call][1][found.position], tolerance):
        return None
    name = input_names(subject.program)[found.position]
    return {"cause": "not-written-back", "input": name}, writes(subject.program, INPUT).get(name, ())


def _other_order(ours: Expected, theirs: Sequence[Any], tolerance: Tolerance) -> list[int] | None:
    """In which order the artefact gives the tensors of the output, where that alone is another."""
    arrays = [leaf for leaf in ours.outputs if isinstance(leaf, TensorBytes)]
    found = [leaf for leaf in theirs if isinstance(leaf, TensorBytes)]
    if len(arrays) != len(found) or not 1 < len(arrays) <= _MOST_ORDERED:
        return None
    for order in permutations(range(len(arrays))):
        pairs = zip((arrays[number] for number in order), found, strict=True)
        if not any(unequal(one, other, tolerance) for one, other in pairs):
            return list(order)
    return None


def _by_trying(subject: ProofSubject, calls: Sequence[InputCall], got: _Got, tolerance: Tolerance) -> Cause | None:
    outputs: _Got = [(one, []) for one, _ in got]
    for fields, frames, run in chain(_of_buffers(subject), _of_inputs(subject)):
        if first_mismatch(run(calls), outputs, tolerance) is None:
            return fields, frames
    return None


_Tried = tuple[dict[str, Any], tuple["Frame", ...], "Callable[[Sequence[InputCall]], list[Expected]]"]


def _of_buffers(subject: ProofSubject) -> Iterator[_Tried]:
    """Buffers that the model writes: without what an earlier call wrote, with zeros at the start, or with both."""
    places = writes(subject.program, BUFFER)
    written = list(places)
    groups = [[name] for name in written[:_MOST_TRIED]] + ([written] if len(written) > 1 else [])
    for names in groups:
        for cause, zeroed, forgotten in (
            ("starts-at-zero", True, False),
            ("forgets", False, True),
            ("always-zero", True, True),
        ):

            def run(
                calls: Sequence[InputCall], names: list[str] = names, *, zeroed: bool = zeroed, each: bool = forgotten
            ) -> list[Expected]:
                return _with_buffers(subject, calls, names, zeroed=zeroed, each_call=each)

            yield {"cause": cause, "buffers": names}, places[names[0]], run


def _with_buffers(
    subject: ProofSubject, calls: Sequence[InputCall], names: list[str], *, zeroed: bool, each_call: bool
) -> list[Expected]:
    module = module_of(subject.program)
    buffers = dict(module.named_buffers())
    start = {name: torch.zeros_like(buffers[name]) if zeroed else buffers[name].clone() for name in names}
    results = []
    for number, call in enumerate(calls):
        if each_call or not number:
            with torch.no_grad():
                for name, value in start.items():
                    buffers[name].copy_(value)
        results += expected(module, [call], subject.program.call_spec.in_spec, number)
    return results


def _of_inputs(subject: ProofSubject) -> Iterator[_Tried]:
    """One input held at what the sample has for it: an artefact that no longer reads it gives that."""
    spec = subject.program.call_spec.in_spec
    sample = input_leaves(subject.calls[0].given, spec)
    names = input_names(subject.program)
    for number, leaf in list(enumerate(sample))[:_MOST_TRIED]:
        if isinstance(leaf, torch.Tensor):

            def run(calls: Sequence[InputCall], number: int = number, leaf: Any = leaf) -> list[Expected]:
                held = [InputCall(call.inputs, _with_leaf(call.given, spec, number, leaf)) for call in calls]
                return expected(module_of(subject.program), held, spec)

            yield {"cause": "never-read", "input": names[number]}, (), run


def _with_leaf(given: Inputs, spec: pytree.TreeSpec, number: int, leaf: Any) -> Inputs:
    leaves = input_leaves(given, spec)
    held = leaf if leaves[number].shape == leaf.shape else leaves[number]
    changed: Inputs = pytree.tree_unflatten([*leaves[:number], held, *leaves[number + 1 :]], spec)
    return changed


# Find the first operator whose result an artefact gets otherwise than torch: the program is compiled once more with
# intermediate results among its outputs.


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
