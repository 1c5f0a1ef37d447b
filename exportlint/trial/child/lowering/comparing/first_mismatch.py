"""Compare what an artefact gave with what eager gives, within the target's tolerance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from exportlint.lowering.arrays import TensorBytes
from exportlint.trial.child.execution.comparison import max_error
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.lowering.backend import Tolerance
    from exportlint.trial.child.lowering.comparing.input_calls import Expected


_MOST = 60  # characters of a value that is no tensor


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
    for number, (expected, (outputs, inputs)) in enumerate(zip(ours, theirs, strict=True)):
        aligned = _aligned(expected.outputs, outputs)
        if aligned is None:
            count = {"ours": str(len(expected.outputs)), "theirs": str(len(outputs))}
            return Mismatch(number, "output", "", {"what": "structure", **count}, 0)
        for position, (ours_leaf, theirs_leaf) in enumerate(zip(expected.outputs, aligned, strict=True)):
            if fields := unequal(ours_leaf, theirs_leaf, tolerance):
                return Mismatch(number, "output", expected.paths[position], fields, position)
        for position, (ours_leaf, theirs_leaf) in enumerate(zip(expected.inputs, inputs, strict=False)):
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
    return short(repr(leaf))[:_MOST]
