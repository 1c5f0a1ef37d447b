"""What dims an operation of torch gives, and what it demands of the dims that it is given."""

from __future__ import annotations

import math
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from exportlint.engine.values.dims.extents import Extent, number, plus, times
from exportlint.engine.values.dims.needs import (
    Demand,
    Dims,
    Effect,
    Given,
    Need,
    dims_of,
    equal_sides,
    extent_of,
    tensor_of,
)
from exportlint.engine.values.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from exportlint.engine.values.abstract_value import Value


_WORDS = str.split


def broadcast(tensors: Iterable[Dims | None]) -> Effect:
    """Of operands that are paired element by element."""
    known = list(tensors)
    demands: list[Demand] = []
    found: list[Extent | None] = []
    rows = [tuple(reversed(dims)) for dims in known if dims is not None]
    for column in zip_longest(*rows, fillvalue=number(1)):
        wide = [extent for extent in column if extent is None or extent.number != 1]
        sure = [extent for extent in wide if extent is not None]
        demands += [Demand(Need.EQUAL, a, b) for a, b in pairwise(sure) if a != b]
        found.append(_common(wide))
    return Effect(None if None in known else tuple(reversed(found)), tuple(demands))


def _common(wide: Sequence[Extent | None]) -> Extent | None:
    if not wide:
        return number(1)
    sure = [extent for extent in wide if extent is not None]
    numbers = [extent for extent in sure if extent.number is not None]
    return numbers[0] if numbers else sure[0] if len(sure) == len(wide) else None


def product(dims: Iterable[Extent | None]) -> Extent | None:
    whole = number(1)
    for extent in dims:
        if extent is None:
            return None
        whole = times(whole, extent)
    return whole


def matmul(left: Dims | None, right: Dims | None) -> Effect:
    """`left @ right`, of two dims or more each."""
    if left is None or right is None or len(left) < 2 or len(right) < 2:  # noqa: PLR2004 - matrices
        return Effect()
    rest = broadcast((left[:-2], right[:-2]))
    inner = equal_sides(left[-1], right[-2])
    return Effect((*rest.dims, left[-2], right[-1]) if rest.dims is not None else None, (*rest.demands, *inner))


def _elementwise(given: Given) -> Effect:
    return broadcast(given.operands)


def _keeps(given: Given) -> Effect:
    return Effect(dims_of(given.args[0]))


def _matmul(given: Given) -> Effect:
    return matmul(given.dims, dims_of(given.value(1, "other")))


def _reduced(given: Given) -> Effect:
    """`x.sum(1)`, `x.mean(dim=(1, 2), keepdim=True)`."""
    return _without(given, given.value(1, "dim"), given.value(2, "keepdim"))


def _normed(given: Given) -> Effect:
    """`x.norm(2, -1)`."""
    return _without(given, given.value(2, "dim"), given.value(3, "keepdim"))


def _spread(given: Given) -> Effect:
    """`x.std(-1)`, whose second argument is no `keepdim`."""
    return _without(given, given.value(1, "dim"), given.value(3, "keepdim"))


def _without(given: Given, dim: Value | None, keep: Value | None) -> Effect:
    """Reduced over some dims, or over all."""
    if dim is None or dim.kind is Kind.NONE:
        return Effect(())
    places = [extent_of(item) for item in (dim.items if dim.items is not None else (dim,))]
    kept = False if keep is None else keep.truth
    if any(place is None or place.number is None for place in places) or kept is None or not given.dims:
        return Effect()
    gone = {place.number % len(given.dims) for place in places if place and place.number is not None}
    left = (number(1) if i in gone else extent for i, extent in enumerate(given.dims) if kept or i not in gone)
    return Effect(tuple(left))


def _transposed(given: Given) -> Effect:
    return _swapped(given, given.index(1, "dim0", 0), given.index(2, "dim1", 1))


def _matrices_transposed(given: Given) -> Effect:
    """`x.mT`."""
    return _swapped(given, len(given.dims) - 2, len(given.dims) - 1) if len(given.dims) > 1 else Effect()


def _swapped(given: Given, a: int | None, b: int | None) -> Effect:
    if a is None or b is None:
        return Effect()
    dims = list(given.dims)
    dims[a], dims[b] = dims[b], dims[a]
    return Effect(tuple(dims))


def _permuted(given: Given) -> Effect:
    order = [extent.number if extent else None for extent in given.sizes(1, "dims") or []]
    count = len(given.dims)
    if not order or len(order) != count or any(place is None or not -count <= place < count for place in order):
        return Effect()
    return Effect(tuple(given.dims[place] for place in order if place is not None))


def _reversed(given: Given) -> Effect:
    """`x.t()`, `x.T`."""
    return Effect(tuple(reversed(given.dims)))


def _unsqueezed(given: Given) -> Effect:
    place = given.index(1, "dim", 0, new=1)
    if place is None:
        return Effect()
    return Effect((*given.dims[:place], number(1), *given.dims[place:]))


def _squeezed(given: Given) -> Effect:
    place = given.index(1, "dim", 0) if given.value(1, "dim") is not None else None
    at = given.dims[place] if place is not None else None
    if place is None or at is None or at.dims:
        return Effect()
    return Effect((*given.dims[:place], *given.dims[place + 1 :]) if at.number == 1 else given.dims)


def _expanded(given: Given) -> Effect:
    wanted = given.sizes()
    if not wanted or len(wanted) < len(given.dims):
        return Effect()
    padded = [number(1)] * (len(wanted) - len(given.dims)) + list(given.dims)
    kept = [a if b is not None and b.number == -1 else b for a, b in zip(padded, wanted, strict=True)]
    pairs = ((a, b) for a, b in zip(padded, kept, strict=True) if a is not None and a.number != 1)
    return Effect(tuple(kept), tuple(demand for a, b in pairs for demand in equal_sides(a, b)))


def _joined(given: Given) -> Effect:
    """`torch.cat`: equal but for one dim, which is the sum."""
    rows = _rows(given)
    if rows is None:
        return Effect()
    place = Given((tensor_of(rows[0]), *given.args[1:]), given.keywords).index(1, "dim", 0)
    if place is None:
        return Effect()
    demands = [
        d for i in range(len(rows[0])) if i != place for dims in rows[1:] for d in equal_sides(rows[0][i], dims[i])
    ]
    whole: Extent | None = number(0)
    for dims in rows:
        whole = plus(whole, at) if whole is not None and (at := dims[place]) is not None else None
    return Effect((*rows[0][:place], whole, *rows[0][place + 1 :]), tuple(demands))


def _stacked(given: Given) -> Effect:
    rows = _rows(given)
    if rows is None:
        return Effect()
    same = broadcast(rows)
    dims = same.dims or ()
    place = Given((tensor_of(dims), *given.args[1:]), given.keywords).index(1, "dim", 0, new=1)
    return Effect((*dims[:place], number(len(rows)), *dims[place:]) if place is not None else None, same.demands)


def _rows(given: Given) -> list[Dims] | None:
    """The dims of the tensors in a list, where they are known and as many of each."""
    parts = [dims_of(item) for item in given.args[0].items or ()]
    rows = [dims for dims in parts if dims is not None]
    return rows if rows and len(rows) == len(parts) and len({len(dims) for dims in rows}) == 1 else None


def _chunked(given: Given) -> Effect:
    """`x.chunk(2, 1)`: torch keeps the number of pieces that the sample gave."""
    place, size = given.index(2, "dim", 0), extent_of(given.args[1]) if len(given.args) > 1 else None
    at = given.dims[place] if place is not None else None
    return Effect(None, (Demand(Need.PIECES, at, size),) if at and at.dims and size else ())


def _split(given: Given) -> Effect:
    """`x.split(4, 1)`: in this way, unless each size of the range gives as many pieces."""
    asked = _chunked(given).demands
    return Effect(None, tuple(demand for demand in asked if not _gives_one_number(demand.left, demand.right)))


def _gives_one_number(dim: Extent, size: Extent) -> bool:
    n = size.number
    return bool(n) and dim.high != math.inf and -(-dim.low // n) == -(-int(dim.high) // n)  # type: ignore[operator] # bool(n)


def pieces(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Dims | None:
    """The dims of each piece of `x.chunk(3, -1)`, where all are alike."""
    given = Given(args, keywords)
    place = given.index(2, "dim", 0)
    size = extent_of(args[1]) if len(args) > 1 else None
    at = given.dims[place] if place is not None else None
    if place is None or size is None or size.number is None or at is None or at.number is None:
        return None
    if size.number < 1 or at.number % size.number:
        return None
    each = size if name == "split" else number(at.number // size.number)
    return (*given.dims[:place], each, *given.dims[place + 1 :])


def _topk(given: Given) -> Effect:
    place, wanted = given.index(2, "dim", -1), extent_of(given.args[1]) if len(given.args) > 1 else None
    return Effect(None, _at_least(given, place, wanted))


def _unfolded(given: Given) -> Effect:
    wanted = given.value(2, "size")
    return Effect(None, _at_least(given, given.index(1, "dimension", 0), extent_of(wanted) if wanted else None))


def _at_least(given: Given, place: int | None, size: Extent | None) -> tuple[Demand, ...]:
    at = given.dims[place] if place is not None else None
    return (Demand(Need.AT_LEAST, at, size),) if at and at.dims and size else ()


def _linear(given: Given) -> Effect:
    """`F.linear(x, weight)`: the last dim has to be what the weight takes."""
    weight = dims_of(given.value(1, "weight"))
    if not given.dims or weight is None or len(weight) != 2:  # noqa: PLR2004 - a matrix
        return Effect()
    return Effect((*given.dims[:-1], weight[0]), equal_sides(given.dims[-1], weight[1]))


_KEEP = (
    "float double half long int bool to type_as clone detach contiguous abs neg exp log sqrt rsqrt sigmoid relu tanh "
    "clamp round floor ceil flip roll masked_fill cpu cuda bfloat16 softmax log_softmax gelu silu elu leaky_relu "
    "dropout normalize cumsum cumprod zeros_like ones_like rand_like randn_like empty_like full_like tril triu square "
    "sin cos erf sign reciprocal logical_not isnan isinf isfinite layer_norm softplus mish sort argsort "
    "requires_grad_ mul_ add_ sub_ div_ masked_fill_ clamp_ relu_ nan_to_num"
)
_PAIRED = (
    "add sub mul div where maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor remainder fmod "
    "floor_divide true_divide atan2 lerp addcmul addcdiv pow"
)
_REDUCES = "sum mean prod amax amin argmax argmin any all logsumexp"
OPERATIONS: dict[str, Callable[[Given], Effect]] = {
    **dict.fromkeys(_WORDS(_KEEP), _keeps),
    **dict.fromkeys(_WORDS(_PAIRED), _elementwise),
    **dict.fromkeys(_WORDS(_REDUCES), _reduced),
    **dict.fromkeys(("matmul", "bmm", "mm"), _matmul),
    **dict.fromkeys(("std", "var"), _spread),
    **dict.fromkeys(("transpose", "swapaxes"), _transposed),
    **dict.fromkeys(("t", "T", "H"), _reversed),
    **dict.fromkeys(("mT", "mH"), _matrices_transposed),
    **dict.fromkeys(("cat", "concat", "concatenate"), _joined),
    **dict.fromkeys(("chunk", "tensor_split"), _chunked),
    "split": _split,
    "norm": _normed,
    "permute": _permuted,
    "unsqueeze": _unsqueezed,
    "squeeze": _squeezed,
    "expand": _expanded,
    "stack": _stacked,
    "topk": _topk,
    "unfold": _unfolded,
    "linear": _linear,
}
