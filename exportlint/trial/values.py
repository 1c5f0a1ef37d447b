"""Values of any shape: seeded, flattened, copied out, compared, drawn anew. Runs in the child."""

from __future__ import annotations

import dataclasses
import math
import random
import sys
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Iterator

Leaves = list[tuple[str, Any]]
PLAIN = (bool, int, float, complex, str, bytes, type(None))

# Between eager and an exported program of the same operators; what rounds more than this computes something else.
_TOLERANCE = {
    torch.float64: (1e-7, 1e-8),
    torch.complex128: (1e-7, 1e-8),
    torch.float16: (1e-2, 1e-3),
    torch.bfloat16: (2e-2, 1e-2),
}
_SINGLE = (1e-4, 1e-5)


def seed(number: int) -> None:
    """The same randomness for torch, Python and NumPy (if the target uses it)."""
    random.seed(number)
    torch.manual_seed(number)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed(number)


def leaves(value: Any, path: str = "", levels: int = 12) -> Iterator[tuple[str, Any]]:
    """Every tensor and plain value inside, with its path such as `[0].logits`; lengths and keys are leaves too."""
    if isinstance(value, (torch.Tensor, *PLAIN)):
        yield path, value
    elif levels == 0:  # a cycle, or nothing that anybody compares
        yield path, type(value).__name__
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for item in dataclasses.fields(value):
            yield from leaves(getattr(value, item.name, None), f"{path}.{item.name}", levels - 1)
    elif isinstance(value, dict):
        yield f"{path}.keys()", [str(key) for key in value]
        for key, item in value.items():
            yield from leaves(item, f"{path}[{key!r}]", levels - 1)
    elif isinstance(value, (list, tuple)):
        yield f"len({path})", len(value)
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]", levels - 1)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        yield from leaves(dict(vars(value)), path, levels - 1)
    else:
        yield path, type(value).__name__


def snapshot(value: Any, levels: int = 12) -> Leaves:
    """The leaves as they are now; later writes do not reach them. Safe to pickle."""
    return [(path, _kept(leaf)) for path, leaf in leaves(value, levels=levels)]


def _kept(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf if type(leaf) in (*PLAIN, list) else str(leaf)
    if is_fake(leaf):
        return f"FakeTensor{tuple(leaf.shape)}"
    try:
        return _dense(leaf.detach()).clone().cpu()
    except Exception as exc:  # noqa: BLE001 - exotic tensors; the sentence takes the value's place
        return f"{type(leaf).__name__} that cannot be copied ({type(exc).__name__})"


def is_fake(value: Any) -> bool:
    """A tensor of a trace, without data."""
    from torch._subclasses.fake_tensor import FakeTensor  # noqa: PLC0415 - it has no public name

    return isinstance(value, FakeTensor)


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if getattr(tensor, "is_nested", False):
        return tensor.to_padded_tensor(0.0)
    if tensor.layout != torch.strided:
        return tensor.to_dense()
    # `.data` of a subclass or a conjugate view would compare by object; contiguous plain data does not.
    return tensor.as_subclass(torch.Tensor).resolve_conj().resolve_neg()


@dataclasses.dataclass(frozen=True)
class Difference:
    """Where two values part, and by how much (None when it is no matter of numbers)."""

    path: str
    text: str
    max_error: float | None = None


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
            side, value = ("eager", ours[path]) if path in ours else ("the exported program", theirs[path])
            return Difference(path, f"only {side} returns {path or 'a value'} ({_brief(value)})")
    return Difference("", "the order of the values is another")


def _compare_leaf(path: str, ours: Any, theirs: Any, *, exact: bool) -> Difference | None:
    if isinstance(ours, torch.Tensor) and isinstance(theirs, torch.Tensor):
        return _compare_tensor(path, ours, theirs, exact=exact)
    if isinstance(ours, float) and isinstance(theirs, (int, float)) and not exact:
        same = math.isclose(ours, theirs, rel_tol=1e-4, abs_tol=1e-5) or (math.isnan(ours) and math.isnan(theirs))
    else:
        same = type(ours) is type(theirs) and bool(ours == theirs)
    return None if same else Difference(path, f"eager {_brief(ours)}, exported {_brief(theirs)}")


def _compare_tensor(path: str, ours: torch.Tensor, theirs: torch.Tensor, *, exact: bool) -> Difference | None:
    for what in ("shape", "dtype"):
        a, b = getattr(ours, what), getattr(theirs, what)
        if a != b:
            return Difference(path, f"{what}: eager {_word(a)}, exported {_word(b)}")
    if ours.dtype.is_floating_point or ours.dtype.is_complex:
        rtol, atol = (0.0, 0.0) if exact else _TOLERANCE.get(ours.dtype, _SINGLE)
        if torch.allclose(ours, theirs, rtol=rtol, atol=atol, equal_nan=True):
            return None
    elif torch.equal(ours, theirs):
        return None
    error = _max_error(ours, theirs)
    return Difference(path, f"values differ by up to {error:.4g}", error)


def _max_error(ours: torch.Tensor, theirs: torch.Tensor) -> float:
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


def redraw(args: Any, number: int) -> Any:
    """Other values of the same shapes, such that a model still takes them: ranges and integers stay the sample's."""
    from torch.utils import _pytree as pytree  # noqa: PLC0415 - what torch.export itself flattens with

    generator = torch.Generator().manual_seed(number)
    seen: dict[int, Any] = {}

    def other(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.is_sparse or leaf.is_quantized or leaf.is_nested:
            return leaf
        # The same tensor given twice stays the same tensor.
        return seen.setdefault(id(leaf), _redrawn(leaf, generator))

    return pytree.tree_map(other, args)


def _redrawn(tensor: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    if tensor.numel() == 0 or tensor.dtype.is_complex:
        return tensor
    if not tensor.dtype.is_floating_point:
        order = torch.randperm(tensor.numel(), generator=generator)
        return tensor.detach().reshape(-1)[order].reshape(tensor.shape).clone()
    plain = tensor.detach().double()
    low, high = float(plain.min()), float(plain.max())
    if low < high and bool(((plain == 0) | (plain == 1)).all()):  # a mask
        return tensor.detach().reshape(-1)[torch.randperm(tensor.numel(), generator=generator)].reshape(tensor.shape)
    # A sample of equal values, such as torch.ones, says nothing about the range; any other keeps its sign.
    if 0 <= low < high:
        drawn = torch.rand(tensor.shape, generator=generator, dtype=torch.float64) * high
    else:
        spread = float(plain.std()) if tensor.numel() > 1 else abs(low)
        drawn = torch.randn(tensor.shape, generator=generator, dtype=torch.float64) * (spread or 1.0)
        # Many a branch asks for the sign of a sum or a mean.
        if float(drawn.sum()) * float(plain.sum()) > 0:
            drawn = -drawn
    return drawn.to(dtype=tensor.dtype, device=tensor.device).requires_grad_(tensor.requires_grad)
