"""Compare two values: the first difference, within a tolerance."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves


# Between eager and an exported program of the same operators; what rounds more than this computes something else.
_TOLERANCE = {
    torch.float64: (1e-7, 1e-8),
    torch.complex128: (1e-7, 1e-8),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (2e-2, 1e-2),
}
_SINGLE = (1e-4, 1e-5)


@dataclasses.dataclass(frozen=True)
class Difference:
    """The first value that two runs do not share.

    path        of the value, such as `[0].logits`
    what        values, value, shape, dtype, eager-only, program-only, order
    ours        what eager has there, as text; theirs: what the program has. Of tensors the elements furthest apart
    max_error   how far numbers are apart; None where it is no matter of numbers
    """

    path: str
    what: str
    ours: str = ""
    theirs: str = ""
    max_error: float | None = None

    def fields(self) -> dict[str, Any]:
        """As the details of an observation."""
        given = {"what": self.what, "ours": self.ours, "theirs": self.theirs, "max_error": self.max_error}
        return {"output": self.path, **given}


def compare(eager: Leaves, exported: Leaves, *, exact: bool = False) -> Difference | None:
    """The first difference, or None. Numbers may round, unless `exact`."""
    if [path for path, _ in eager] != [path for path, _ in exported]:
        return _other_structure(eager, exported)
    for (path, ours), (_, theirs) in zip(eager, exported, strict=True):
        if found := _compare_leaf(path, ours, theirs, exact=exact):
            return found
    return None


def _other_structure(eager: Leaves, exported: Leaves) -> Difference:
    ours, theirs = dict(eager), dict(exported)
    for path in [*ours, *theirs]:
        if (path in ours) != (path in theirs):
            if path in ours:
                return Difference(path, "eager-only", ours=_brief(ours[path]))
            return Difference(path, "program-only", theirs=_brief(theirs[path]))
    return Difference("", "order")


def _compare_leaf(path: str, ours: Any, theirs: Any, *, exact: bool) -> Difference | None:
    if isinstance(ours, torch.Tensor) and isinstance(theirs, torch.Tensor):
        return _compare_tensor(path, ours, theirs, exact=exact)
    if isinstance(ours, float) and isinstance(theirs, (int, float)) and not exact:
        same = math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-5) or (math.isnan(ours) and math.isnan(theirs))
    else:
        same = type(ours) is type(theirs) and bool(ours == theirs)
    return None if same else Difference(path, "value", _brief(ours), _brief(theirs))


def _compare_tensor(path: str, ours: torch.Tensor, theirs: torch.Tensor, *, exact: bool) -> Difference | None:
    for what in ("shape", "dtype"):
        a, b = getattr(ours, what), getattr(theirs, what)
        if a != b:
            return Difference(path, what, _word(a), _word(b))
    if ours.dtype.is_floating_point or ours.dtype.is_complex:
        rtol, atol = (0.0, 0.0) if exact else _TOLERANCE.get(ours.dtype, _SINGLE)
        if torch.allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True):
            return None
    elif torch.equal(ours, theirs):
        return None
    return Difference(path, "values", *_where_furthest(ours, theirs), max_error(ours, theirs))


def _where_furthest(ours: torch.Tensor, theirs: torch.Tensor) -> tuple[str, str]:
    """The two elements that are furthest apart, as text; a number beside what is none is further than any two."""
    wide = torch.complex128 if ours.dtype.is_complex else torch.float64
    one, other = ours.to(wide), theirs.to(wide)
    gap = (one - other).abs()
    gap = torch.where((one == other) | (one.isnan() & other.isnan()), 0.0, gap.nan_to_num(nan=math.inf))
    index = [int(at) for at in torch.unravel_index(gap.argmax(), gap.shape)]
    place = f" at {index}" if index else ""
    return f"{_number(ours[tuple(index)].item())}{place}", _number(theirs[tuple(index)].item())


def _number(value: complex) -> str:
    return f"{value:.4g}" if isinstance(value, (float, complex)) else str(value)


def apart_by(ours: Leaves, theirs: Leaves, largest: float) -> float | None:
    """How far the first numbers of double precision are apart that differ by more than rounding, of values as large as
    the outputs and as `largest`, and more than a little beside how far the outputs spread; None where none do."""
    for (_, one), (_, other) in zip(ours, theirs, strict=False):
        if not (isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor)) or one.shape != other.shape:
            continue
        both = torch.isfinite(one) & torch.isfinite(other)
        if one.dtype is not torch.float64 or other.dtype is not torch.float64 or not bool(both.any()):
            continue
        mine, gap = one[both], float((one[both] - other[both]).abs().max())
        spread = float(mine.max() - mine.min()) or float(mine.abs().max())
        rounding = _ROUNDINGS * torch.finfo(torch.float64).eps * max(largest, float(mine.abs().max()))
        if gap > rounding + _OF_SPREAD * spread:
            return gap
    return None


_ROUNDINGS, _OF_SPREAD = 1e3, 1e-4


def max_error(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    """How far finite numbers are apart at most; infinity where none is finite."""
    wide = torch.complex128 if ours.dtype.is_complex else torch.float64
    gap = (ours.to(wide) - theirs.to(wide)).abs()
    finite = gap[torch.isfinite(gap)]
    return float(finite.max()) if finite.numel() else math.inf


def _word(value: Any) -> str:
    return str(tuple(value)) if isinstance(value, torch.Size) else str(value)


def _brief(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"  # noqa: PLR2004 - fits a line
