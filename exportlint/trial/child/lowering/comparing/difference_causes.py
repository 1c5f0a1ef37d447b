"""Say what makes an artefact differ from eager: each cause is tried on the exported program, and stands where it gives
what the artefact gave."""

from __future__ import annotations

from itertools import chain, permutations
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from exportlint.lowering.arrays import TensorBytes, array_leaves
from exportlint.trial.child.lowering.comparing.first_mismatch import Mismatch, first_mismatch, unequal
from exportlint.trial.child.lowering.comparing.input_calls import Expected, InputCall, expected, input_leaves, module_of
from exportlint.trial.child.lowering.operator_places import BUFFER, INPUT, input_names, writes
from exportlint.trial.child.server.forks import in_fork

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.lowering.backend import Tolerance
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.lowering.proved import EagerReference, ProofSubject
    from exportlint.trial.protocol.frames import Frame


_Got = list[tuple[list[Any], list[Any]]]
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
