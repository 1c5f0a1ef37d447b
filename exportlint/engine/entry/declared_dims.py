"""The dims of a sample's tensors, with those that `dynamic_shapes` declares dynamic."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from exportlint.engine.values.dims.extents import Declaration, DeclaredDim, Extent, declared
from exportlint.engine.values.dims.needs import extent_of
from exportlint.engine.values.kinds import Kind

if TYPE_CHECKING:
    from exportlint.engine.values.abstract_value import Value
    from exportlint.engine.values.dims.needs import Dims


DIM = "torch.export.Dim"
_DYNAMIC = {f"{DIM}.AUTO": Declaration.AUTO, f"{DIM}.DYNAMIC": Declaration.DYNAMIC}
_LEAST = 2  # torch takes dims of 0 and 1 for constants


def given_dims(dims: Dims | None, spec: Value | None, name: str) -> Dims | None:
    """The sample's sizes, but for the dims that are declared dynamic; None where the declaration is not understood."""
    if dims is None or spec is None or spec.kind is Kind.NONE:
        return dims
    if spec.container not in {"dict", "tuple", "list"}:
        return None
    return tuple(_given(extent, _declared_at(spec, i), name, i) for i, extent in enumerate(dims))


def _declared_at(spec: Value, index: int) -> Value | None:
    if spec.container == "dict":
        return spec.field(str(index))
    return spec.items[index] if spec.items is not None and index < len(spec.items) else None


def _given(sample: Extent | None, said: Value | None, name: str, index: int) -> Extent | None:
    if said is None or said.kind is Kind.NONE or extent_of(said) is not None or said.name == f"{DIM}.STATIC":
        return sample
    if (how := _DYNAMIC.get(said.name or "")) is not None:
        return declared(DeclaredDim(f"{name}.{index}", _LEAST, how=how, index=index))
    if said.kind is Kind.INSTANCE and said.name == DIM:
        return declared(_of_dim(said, f"{name}.{index}", index))
    return None


def _of_dim(dim: Value, place: str, index: int) -> DeclaredDim:
    """`Dim("batch", min=2, max=64)`; without a name it is a dim of its own."""
    named = dim.field("0")
    low, high = (extent_of(value) if (value := dim.field(end)) is not None else None for end in ("min", "max"))
    least = max(low.number or 0, _LEAST) if low else _LEAST
    most = high.number if high and high.number is not None else math.inf
    return DeclaredDim((named.name if named else None) or place, least, most, index=index)
