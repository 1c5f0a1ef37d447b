"""Name the free sizes of a trace, and write declarations."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.input_tensors import hint

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace


# By rank, what the dims behind the first one mostly are.
_INSIDE = {4: {2: "height", 3: "width"}, 5: {2: "frames", 3: "height", 4: "width"}, 3: {1: "length"}, 2: {1: "length"}}


def names(trace: SymbolicTrace, given: Mapping[tuple[str, int], str] | None = None) -> dict[Any, str]:
    """A name for every free symbol: the declared one or one of those given for a dim of a tensor, "batch" for first
    dims, else by what the dim mostly is."""
    found: dict[Any, str] = {}
    for root in trace.roots():
        sizes = trace.of(root)
        known = ((given or {}).get(size.place) for size in sizes if size.form == root)
        name = next(filter(None, known), None) or _name(root, sizes)
        taken = sum(re.fullmatch(rf"{name}(_\d+)?", other) is not None for other in found.values())
        found[root] = f"{name}_{taken + 1}" if taken else name
    return found


def _name(root: Any, sizes: list[InputSize]) -> str:
    plain = [size for size in sizes if size.form == root] or sizes
    for size in plain:
        declared: Any = size.tensor.asked().get(size.dim)
        if hasattr(declared, "__name__") and declared.__name__.isidentifier():
            return str(declared.__name__)
    if any(size.dim == 0 and size.tensor.value.dim() > 1 for size in plain):
        return "batch"
    first = plain[0]
    rank = first.tensor.value.dim()
    if rank == 2 and first.tensor.value.is_floating_point():  # noqa: PLR2004 - features or steps: nobody knows
        return re.sub(r"\W+", "_", f"{first.tensor.label}_{first.dim}")
    return _INSIDE.get(rank, {}).get(first.dim) or re.sub(r"\W+", "_", f"{first.tensor.label}_{first.dim}")


def declared_as(what: Any) -> str:
    """`batch`, or `Dim.AUTO`."""
    return str(what.__name__) if hasattr(what, "__name__") else f"Dim.{hint(what)}"
