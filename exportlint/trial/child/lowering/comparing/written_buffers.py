"""The buffers that the model writes to: what eager has in them before and after the calls.

An artefact without state starts every call with the values of the export. The outputs of a few calls need not show it:
a cache that is written at one position, and read there, is always right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from exportlint.lowering.arrays import TensorBytes
from exportlint.trial.child.lowering.comparing.first_mismatch import first_mismatch, unequal
from exportlint.trial.child.lowering.comparing.input_calls import expected
from exportlint.trial.child.lowering.operator_places import BUFFER, writes
from exportlint.trial.child.lowering.proved import WrittenBuffer
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from exportlint.lowering.backend import Tolerance
    from exportlint.trial.child.lowering.comparing.input_calls import InputCall


def written_buffers(
    build_model: Callable[[], torch.nn.Module], calls: Sequence[InputCall], in_spec: torch.utils._pytree.TreeSpec
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
    in_spec: torch.utils._pytree.TreeSpec,
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
