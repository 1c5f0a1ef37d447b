"""Name the free sizes of a trace, and write declarations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.input_tensors import hint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace


_LENGTH = (2, 3)  # so many dims have tokens, and rows of features


def names(
    trace: SymbolicTrace,
    given: Mapping[tuple[str, int], str] | None = None,
    meaning: Mapping[Any, str] | None = None,
) -> dict[Any, str]:
    """A name for every free symbol: the declared one or one of those given for a dim of a tensor, else what its use
    means, else by its place. Without `meaning`, first dims are taken for batches."""
    found: dict[Any, str] = {}
    for root in trace.roots():
        sizes = trace.of(root)
        known = ((given or {}).get(size.place) for size in sizes if size.form == root)
        name = next(filter(None, known), None) or _declared(root, sizes) or _meant(trace, root, meaning)
        if all(size.form != root for size in sizes) and not name.startswith("_"):
            name = f"_{name}"  # no dim has this size: they are computed from it
        taken = sum(re.fullmatch(rf"{name}(_\d+)?", other) is not None for other in found.values())
        found[root] = f"{name}_{taken + 1}" if taken else name
    return found


def _declared(root: Any, sizes: list[InputSize]) -> str | None:
    declared: list[Any] = [size.tensor.asked().get(size.dim) for size in sizes if size.form == root]
    named = (str(what.__name__) for what in declared if hasattr(what, "__name__"))
    return next((name for name in named if name.isidentifier()), None)


def _meant(trace: SymbolicTrace, root: Any, meaning: Mapping[Any, str] | None) -> str:
    if meaning and root in meaning:
        return meaning[root]
    sizes = trace.of(root)
    plain = [size for size in sizes if size.form == root] or sizes
    if meaning is None and any(size.dim == 0 and size.tensor.value.dim() > 1 for size in plain):
        return "batch"
    if any(_is_length(trace, root, size, meaning) for size in plain):
        return "length"
    return neutral_name(plain[0])


def _is_length(trace: SymbolicTrace, root: Any, size: InputSize, meaning: Mapping[Any, str] | None) -> bool:
    """The only dim beside the batch that is free, of tokens or of rows of features."""
    tensor = size.tensor
    rank = tensor.value.dim()
    if rank not in _LENGTH or (rank == 2 and tensor.value.is_floating_point()):  # noqa: PLR2004 - or features
        return False
    beside = [other for other in trace.sizes if other.tensor is tensor and not other.fixed and other.form != root]
    batch = (
        beside[0].dim == 0 if meaning is None and beside else [(meaning or {}).get(o.form) for o in beside] == ["batch"]
    )
    return size.dim > 0 and len(beside) == 1 and batch


def neutral_name(size: InputSize) -> str:
    """`batch_a_1` for dim 1 of `batch['a']`."""
    return re.sub(r"[\W_]+", "_", f"{size.tensor.label}_{size.dim}").strip("_")


def declared_as(what: Any) -> str:
    """`batch`, or `Dim.AUTO`."""
    return str(what.__name__) if hasattr(what, "__name__") else f"Dim.{hint(what)}"
