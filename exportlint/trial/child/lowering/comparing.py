"""Compare what an artefact gave with what eager gives: its outputs, the buffers that it should have written, and the
arguments that it takes though the exported program refuses them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from exportlint.lowering.arrays import TensorBytes, array_leaves
from exportlint.lowering.backend import COMPILED as USUAL_TOLERANCE
from exportlint.trial.child.execution.comparison import max_error
from exportlint.trial.child.lowering.operator_places import BUFFER, input_names, writes
from exportlint.trial.child.lowering.proof_subject import (
    EagerReference,
    Expected,
    InputCall,
    ProofSubject,
    Proved,
    WrittenBuffer,
    expected,
    input_leaves,
    module_of,
)
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from exportlint.lowering.backend import Tolerance

# Compare what an artefact gave with what eager gives, within the target's tolerance.


_MOST_SHOWN = 60  # characters of a value that is no tensor


@dataclass(frozen=True)
class Mismatch:
    """The first value that is not the same.

    call      its number
    of        output, or input: what the call left in an argument
    path      of the value
    fields    how it differs, as details of an observation
    position  of the value among the leaves
    """

    call: int
    of: str
    path: str
    fields: Mapping[str, Any]
    position: int


def first_mismatch(
    ours: Sequence[Expected], theirs: Sequence[tuple[Sequence[Any], Sequence[Any]]], tolerance: Tolerance
) -> Mismatch | None:
    """In the order of the calls; of a call first its outputs."""
    for number, (wanted, (outputs, inputs)) in enumerate(zip(ours, theirs, strict=True)):
        aligned = _aligned(wanted.outputs, outputs)
        if aligned is None:
            count = {"ours": str(len(wanted.outputs)), "theirs": str(len(outputs))}
            return Mismatch(number, "output", "", {"what": "structure", **count}, 0)
        for position, (ours_leaf, theirs_leaf) in enumerate(zip(wanted.outputs, aligned, strict=True)):
            if fields := unequal(ours_leaf, theirs_leaf, tolerance):
                return Mismatch(number, "output", wanted.paths[position], fields, position)
        for position, (ours_leaf, theirs_leaf) in enumerate(zip(wanted.inputs, inputs, strict=False)):
            if fields := unequal(ours_leaf, theirs_leaf, tolerance):
                return Mismatch(number, "input", f"[{position}]", fields, position)
    return None


def _aligned(ours: Sequence[Any], theirs: Sequence[Any]) -> list[Any] | None:
    """A target may give all leaves of the output, or its tensors alone: the rest are constants of the program."""
    if len(ours) == len(theirs):
        return list(theirs)
    arrays = [leaf for leaf in ours if isinstance(leaf, TensorBytes)]
    if len(arrays) != len(theirs):
        return None
    given = iter(theirs)
    return [next(given) if isinstance(leaf, TensorBytes) else leaf for leaf in ours]


def unequal(ours: Any, theirs: Any, tolerance: Tolerance) -> dict[str, Any] | None:
    """How two leaves differ, as details of an observation; None where they do not."""
    if isinstance(ours, TensorBytes) and isinstance(theirs, TensorBytes):
        return _unequal_arrays(ours, theirs, tolerance)
    if isinstance(theirs, TensorBytes) and isinstance(ours, (bool, int, float)) and theirs.torch().numel() == 1:
        theirs = theirs.torch().item()  # outside of Python a number is a tensor without dimensions
    same = ours == theirs or (ours != ours and theirs != theirs)  # noqa: PLR0124 - nan
    return None if same else _values(_brief(ours), _brief(theirs))


def _unequal_arrays(ours: TensorBytes, theirs: TensorBytes, tolerance: Tolerance) -> dict[str, Any] | None:
    for what in ("shape", "dtype"):
        a, b = getattr(ours, what), getattr(theirs, what)
        if a != b:
            return {"what": what, "ours": str(a), "theirs": str(b)}
    if ours.data == theirs.data:
        return None
    a, b = ours.torch(), theirs.torch()
    rtol, atol = tolerance.get(ours.dtype, (0.0, 0.0))
    if torch.allclose(b, a, rtol=rtol, atol=atol, equal_nan=True):
        return None
    if a.numel() == 1:
        return _values(f"{a.item():.6g}", f"{b.item():.6g}")
    return {"what": "values", "max_error": max_error(a, b)}


def _values(ours: str, theirs: str) -> dict[str, Any]:
    return {"what": "value", "ours": ours, "theirs": theirs}


def _brief(leaf: Any) -> str:
    if isinstance(leaf, TensorBytes):
        return f"{leaf.dtype} {leaf.shape}"
    return short(repr(leaf))[:_MOST_SHOWN]


# The buffers that the model writes to: what eager has in them before and after the calls.
#
# An artefact without state starts every call with the values of the export. The outputs of a few calls need not show
# it: a cache that is written at one position, and read there, is always right.


def written_buffers(
    build_model: Callable[[], torch.nn.Module], calls: Sequence[InputCall], in_spec: pytree.TreeSpec
) -> list[WrittenBuffer]:
    """Those that the calls changed in eager, and that the output depends on."""
    model = build_model()
    before = _buffers(model)
    if not before or not calls:
        return []
    expected(model, calls, in_spec)
    changed = [WrittenBuffer(name, before[name], value) for name, value in _buffers(model).items()]
    changed = [one for one in changed if one.after.data != one.before.data]
    return [one for one in changed if _matters(one.name, build_model, calls[:1], in_spec)]


def _buffers(model: torch.nn.Module) -> dict[str, TensorBytes]:
    named = model.named_buffers(remove_duplicate=False) if isinstance(model, torch.nn.Module) else ()
    return {
        name: TensorBytes.of(value) for name, value in named if value.layout == torch.strided and not value.is_quantized
    }


def _matters(
    name: str,
    build_model: Callable[[], torch.nn.Module],
    calls: Sequence[InputCall],
    in_spec: pytree.TreeSpec,
) -> bool:
    """Does eager give another output where the buffer starts with other values? Running statistics in training do not
    matter: they are written, and never read."""
    usual, other = build_model(), build_model()
    buffer = other.get_buffer(name)
    with torch.no_grad():
        buffer.copy_(~buffer if buffer.dtype == torch.bool else buffer + 1)
    ours, theirs = expected(usual, calls, in_spec), expected(other, calls, in_spec)
    if any(one.raised for one in theirs):
        return True
    return first_mismatch(ours, [(one.outputs, one.inputs) for one in theirs], {}) is not None


def lost_writes(
    program: torch.export.ExportedProgram, written: Sequence[WrittenBuffer], tolerance: Tolerance
) -> Iterator[Observation]:
    """Of a target without state: the first buffer whose values an artefact would have needed for the next call."""
    for one in written:
        if fields := unequal(one.after, one.before, tolerance):
            details = {"check": "buffer", "output": one.name, "cause": "forgets", "buffers": [one.name], **fields}
            yield Observation("difference", details=details).at(writes(program, BUFFER).get(one.name, ()))
            return


# What eager and the exported program give for the calls that prove an artefact.


def eager_reference(subject: ProofSubject) -> EagerReference | Proved:
    """In a fork, so that the program stays as it is."""
    result = in_fork(lambda: _called(subject), subject.folder.parent)
    if not result.ok:
        if result.raised is None:
            return Proved(CRASHED, short(f"eager, beside which it is compared: {result.ended}"))
        return Proved(SKIPPED, short(f"eager raised: {result.raised.first_line}"))
    found: EagerReference = result.value
    return found if found.calls else Proved(SKIPPED, "eager raised: nothing to compare with")


def _called(subject: ProofSubject) -> EagerReference:
    spec = subject.program.call_spec.in_spec
    ours = expected(subject.build_model(), subject.calls, spec)
    theirs = expected(module_of(subject.program), subject.calls, spec)
    taken = [call for call, a, b in zip(subject.calls, ours, theirs, strict=True) if not a.raised and not b.raised]
    if len(taken) < len(subject.calls):  # a call that raised may have left something behind
        ours, theirs = (expected(model, taken, spec) for model in (subject.build_model(), module_of(subject.program)))
    others = expected(subject.build_model(), taken, spec, first_seed=50)
    written = [] if subject.lowering.keeps_state else written_buffers(subject.build_model, taken, spec)
    steady = first_mismatch(ours, _pairs(others), USUAL_TOLERANCE) is None
    return EagerReference(taken, ours, theirs, steady, tuple(written))


def _pairs(results: Sequence[Expected]) -> list[tuple[list[Any], list[Any]]]:
    return [(one.outputs, one.inputs) for one in results]


# Find what the exported program refuses and its artefact takes: another value of a Python argument that the export
# fixed. The guard is checked by `program.module()`, and an artefact has only the graph.


_MOST_ARGUMENTS = 3  # arguments
_WORDS = 200


@dataclass(frozen=True)
class ArgumentGuard:
    """One that was seen to refuse.

    argument  its name; value: the one of the sample; other: the one that is refused, both as code
    text      what the exported program raises
    leaves    of the call with the other value
    eager     what eager gives for it
    """

    argument: str
    value: str
    other: str
    text: str
    leaves: list[Any]
    eager: Expected


def guards_of(subject: ProofSubject) -> list[ArgumentGuard]:
    """Of the first plain arguments of the sample: those that only eager takes with another value."""
    if not any(map(_is_plain, input_leaves(subject.calls[0].given, subject.program.call_spec.in_spec))):
        return []
    return in_fork(lambda: list(_guards(subject)), subject.folder.parent).value or []


def _guards(subject: ProofSubject) -> Iterator[ArgumentGuard]:
    spec = subject.program.call_spec.in_spec
    sample = input_leaves(subject.calls[0].given, spec)
    names = input_names(subject.program)
    plain = [number for number, leaf in enumerate(sample) if _is_plain(leaf)]
    for number in plain[:_MOST_ARGUMENTS]:
        other = _other(sample[number])
        leaves = [*sample[:number], other, *sample[number + 1 :]]
        call = [InputCall("", pytree.tree_unflatten(leaves, spec))]
        (eager,) = expected(subject.build_model(), call, spec)
        (program,) = expected(module_of(subject.program), call, spec)
        if program.raised and not eager.raised:
            text = program.raised.partition("\n")[0][:_WORDS]
            yield ArgumentGuard(names[number], repr(sample[number]), repr(other), text, array_leaves(leaves), eager)


def _is_plain(leaf: Any) -> bool:
    return isinstance(leaf, (bool, int, float, str))


def _other(value: Any) -> Any:
    """Another one of the same type.

    >>> _other(True), _other(2), _other("sum")
    (False, 3, 'sum other')
    """
    if isinstance(value, bool):
        return not value
    return f"{value} other" if isinstance(value, str) else value + 1


def dropped(
    guards: Sequence[ArgumentGuard], got: Sequence[tuple[list[Any], list[Any]]], tolerance: Tolerance
) -> Iterator[Observation]:
    """Of the artefact's own calls with the other values, those that ended: it took what it cannot compute."""
    for guard, results in zip(guards, got, strict=False):
        if first_mismatch([guard.eager], [results], tolerance):
            words = {"argument": guard.argument, "value": guard.value, "other": guard.other}
            yield Observation("note", guard.text, details={"note": "dropped-guard", **words})
