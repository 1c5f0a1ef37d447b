"""Find what the exported program refuses and its artefact takes: another value of a Python argument that the export
fixed. The guard is checked by `program.module()`, and an artefact has only the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch.utils import _pytree as pytree

from exportlint.lowering.arrays import array_leaves
from exportlint.trial.child.lowering.comparing.first_mismatch import first_mismatch
from exportlint.trial.child.lowering.comparing.input_calls import Expected, InputCall, expected, input_leaves, module_of
from exportlint.trial.child.lowering.operator_places import input_names
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.lowering.backend import Tolerance
    from exportlint.trial.child.lowering.proved import ProofSubject


_MOST = 3  # arguments
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
    for number in plain[:_MOST]:
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
