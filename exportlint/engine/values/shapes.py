"""What operations of torch do with sizes: the dims they give, and what they demand of those they are given.

With `dynamic_shapes`, an exported program has to hold for every size of a range. torch checks that while it traces: it
notes each comparison of sizes that the code makes, and refuses the export when one holds for some sizes of the range
only. So an operation has an `Effect`: the dims of its result, as far as they are known, and its `Demand`s on the dims
of its operands. A rule asks which demands are open, that is, which the declared range does not settle.

A second, smaller question is answered at the end: where the dim goes whose size depends on data (the rows of
`x[mask]`).
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import Container, Kind, Module, Scalar, Size, Tensor, Value, exactly
from exportlint.engine.values.extents import Dims, Extent, divided, equal, less, number, plus, remainder, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


_NUMBERS = frozenset({Kind.SCALAR, Kind.SIZE, Kind.UNBACKED, Kind.NONE})


class Need(enum.Enum):
    """What torch asks of two extents, so that one answer holds for every size.

    >>> Need("at least").name
    'AT_LEAST'
    """

    EQUAL = "equal"
    AT_LEAST = "at least"
    PIECES = "pieces"


@dataclass(frozen=True, slots=True)
class Demand:
    """`left` has to equal `right`, to be at least `right`, or falls into as many pieces of `right` as the sample.

    >>> Demand(Need.EQUAL, number(16), number(16)).open
    False
    """

    need: Need
    left: Extent
    right: Extent

    @property
    def open(self) -> bool:
        """Does it hold for some of the declared sizes only?"""
        if not self.left.dims | self.right.dims:
            return False
        if self.need is Need.EQUAL:
            return equal(self.left, self.right) is not True
        return self.need is Need.PIECES or less(self.left, self.right) is not False


@dataclass(frozen=True, slots=True)
class Effect:
    """The dims of the result, where they are known."""

    dims: Dims | None = None
    demands: tuple[Demand, ...] = ()


@dataclass(frozen=True, slots=True)
class Given:
    """What an operation is given: its arguments, of which the first is the tensor, and its keywords."""

    args: tuple[Value, ...]
    keywords: Mapping[str, Value]

    @property
    def dims(self) -> Dims:
        """Those of the tensor."""
        return dims_of(self.args[0]) or ()

    @property
    def operands(self) -> list[Dims | None]:
        """The dims of what is paired element by element; numbers fit everything."""
        given = (*self.args, *self.keywords.values())
        return [dims_of(value) for value in given if value.kind not in _NUMBERS or not value.certain]

    def value(self, place: int, name: str) -> Value | None:
        return self.args[place] if len(self.args) > place else self.keywords.get(name)

    def index(self, place: int, name: str, default: int, *, new: int = 0) -> int | None:
        """A dim that is named by its place, counted from the left; None where it is not known, or there is none.

        `new`: how many dims the result has more.
        """
        value = self.value(place, name)
        found = number(default) if value is None else extent_of(value)
        count = len(self.dims) + new
        if found is None or found.number is None or not -count <= found.number < count:
            return None
        return found.number % count

    def sizes(self, place: int = 1, name: str = "size") -> list[Extent | None] | None:
        """Several extents, given one by one or as one tuple."""
        rest = self.args[place:]
        if not rest and name in self.keywords:
            rest = (self.keywords[name],)
        if len(rest) == 1 and rest[0].items is not None:
            rest = rest[0].items
        elif len(rest) == 1 and extent_of(rest[0]) is None:
            return None
        return [extent_of(value) for value in rest]


def dims_of(value: Value | None) -> Dims | None:
    """The dims of what is a tensor on every path.

    >>> from exportlint.engine.values.abstract_value import UNKNOWN
    >>> dims_of(UNKNOWN) is None
    True
    """
    if value is None or not value.is_tensor:
        return None
    lead = value.lead
    return lead.dims if isinstance(lead, Tensor) else None


def extent_of(value: Value) -> Extent | None:
    """The number that a size or a constant is; None for anything else.

    >>> from exportlint.engine.values.abstract_value import UNKNOWN
    >>> extent_of(UNKNOWN) is None
    True
    """
    match value.lead:
        case Size(extent=extent) if value.certain:
            return extent
        case Scalar(container="int", name=str(text)) if value.certain:
            return number(int(text))
    return None


def has_several_elements(value: Value) -> bool:
    """Is it surely a tensor with a dim of two elements or more?

    >>> has_several_elements(tensor_of((number(1), number(3)))), has_several_elements(tensor_of((number(1), None)))
    (True, False)
    """
    tensors = [option for option in value.present if isinstance(option, Tensor)]
    several = (any(size is not None and size.low > 1 for size in tensor.dims or ()) for tensor in tensors)
    return len(tensors) == len(value.options) and all(several)


def tensor_of(dims: Dims) -> Value:
    """A tensor of which the dims are known."""
    return exactly(Tensor(dims=dims))


def equal_sides(a: Extent | None, b: Extent | None) -> tuple[Demand, ...]:
    """That two extents are equal, where both are known."""
    return (Demand(Need.EQUAL, a, b),) if a is not None and b is not None and a != b else ()


_WORDS = str.split
_MAKERS = frozenset({"zeros", "ones", "empty", "rand", "randn", "full", "randint"})
_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "axis0": "dim0", "axis1": "dim1"}


# Without a dim, they give one element.
_TO_ONE = frozenset({
    "all", "amax", "amin", "any", "argmax", "argmin", "count_nonzero", "max", "mean", "median", "min", "nanmean",
    "nansum", "norm", "prod", "std", "sum", "var", "vector_norm",
})  # fmt: skip


def effect(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Effect:
    """Of a function or method of torch, by its last name; `args[0]` is the tensor of a method.

    >>> effect("add", (), {})
    Effect(dims=None, demands=())
    """
    # torch takes two names for some parameters; here each has one.
    named = {_OTHER_NAMES.get(key, key): value for key, value in keywords.items()}
    first = next((named.pop(key) for key in ("input", "tensors") if key in named), None) if not args else None
    given = Given(args if first is None else (first,), named)
    if name in _MAKERS:
        return Effect(_made(name, given))
    if name == "arange":
        return Effect(_arange(given))
    if name in _TO_ONE and len(given.args) == 1 and given.keywords.keys() <= {"dtype"}:
        return Effect(())  # of whatever it is taken
    known = _OPERATIONS.get(name)
    if known is None or not given.args:
        return Effect()
    parts = given.args[0].items if given.args[0].items is not None else given.args
    return known(given) if any(dims_of(part) is not None for part in (*parts, *keywords.values())) else Effect()


# Operations, by what they do.


def _made(name: str, given: Given) -> Dims | None:
    place = 0
    if name == "randint":
        place = next((i for i, value in enumerate(given.args) if value.items is not None), len(given.args))
    if name == "full":
        given = Given(given.args[:1], given.keywords)
    sizes = given.sizes(place)
    return tuple(sizes) if sizes else None


def _arange(given: Given) -> Dims | None:
    ends = [extent_of(value) for value in given.args]
    if not given.keywords.keys().isdisjoint({"start", "end", "step"}):
        return (None,)
    if len(ends) == 1:
        return (ends[0],)
    if len(ends) == 2 and ends[0] is not None and ends[1] is not None:  # noqa: PLR2004 - start and end
        return (plus(ends[1], ends[0], -1),)
    start, end, step = [one.number if one is not None else None for one in (*ends, None, None, None)[:3]]
    if start is not None and end is not None and step:
        return (number(len(range(start, end, step))),)
    return (None,) if ends else None


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
    """What comes of sizes that are paired, those of 1 left out: a number, else the declared dim that all are."""
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


def _with_two_swapped(given: Given, a: int | None, b: int | None) -> Effect:
    if a is None or b is None or min(a, b) < 0:
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


def _viewed(given: Given) -> Effect:
    wanted, dims = given.sizes(1, "shape"), given.dims
    if not wanted or any(extent is None for extent in (*wanted, *dims)):
        return Effect(tuple(wanted) if wanted and not any(e and e.number == -1 for e in wanted) else None)
    sure = [extent for extent in wanted if extent is not None]
    new = _resolved(sure, product(dims))
    return Effect(new, tuple(_asked_by_view([extent for extent in dims if extent is not None], sure)))


def _resolved(wanted: Sequence[Extent], whole: Extent | None) -> Dims | None:
    """With -1 replaced by what is left."""
    rest = product(extent for extent in wanted if extent.number != -1)
    left = _quotient(whole, rest) if whole is not None and rest is not None else None
    return tuple(left if extent.number == -1 else extent for extent in wanted)


def _quotient(whole: Extent, part: Extent) -> Extent | None:
    if (found := divided(whole, part)) is not None:
        return found
    if whole.terms is not None and part.terms is not None and not whole.offset and not part.offset:
        (a, m), (b, n) = (*whole.terms, (None, 0))[0], (*part.terms, (None, 0))[0]
        if a == b and len(whole.terms) == len(part.terms) == 1 and m % n == 0:
            return number(m // n)
    return None


def _asked_by_view(old: list[Extent], new: list[Extent]) -> list[Demand]:
    """What torch asks to see that the elements fit, after the dims that stay on the left and on the right."""
    while old and new and equal(old[0], new[0]):
        old, new = old[1:], new[1:]
    while old and new and equal(old[-1], new[-1]):
        old, new = old[:-1], new[:-1]
    if not old or not new or not any(extent.dims for extent in old):
        return []
    whole, numbers = product(old), [extent for extent in new if extent.number is not None]
    if whole is None or (new[0].number == -1 and len(new) == 1):
        return []
    if len(numbers) == len(new) and not any(extent.number == -1 for extent in new):
        return [Demand(Need.EQUAL, whole, asked)] if (asked := product(new)) is not None else []
    sides = ((old[0], new[0]), (old[-1], new[-1]))
    return [Demand(Need.EQUAL, a, b) for a, b in sides if _splits(a, b)]


def _splits(dim: Extent, part: Extent) -> bool:
    """Is a dim that is declared dynamic to fall into parts of a number that may not fit?"""
    if not dim.dims or part.number is None or part.number < 2:  # noqa: PLR2004 - one part is no question
        return False
    left = remainder(dim, part)
    return left is None or left.number != 0


def _flattened(given: Given) -> Effect:
    dims = given.dims
    start, end = given.index(1, "start_dim", 0), given.index(2, "end_dim", -1)
    if start is None or end is None:
        return Effect()
    return Effect((*dims[:start], product(dims[start : end + 1]), *dims[end + 1 :]))


def _unflattened(given: Given) -> Effect:
    place, sizes = given.index(1, "dim", 0), given.sizes(2, "sizes")
    if place is None or not sizes:
        return Effect()
    inner = _viewed(Given((tensor_of((given.dims[place],)), *(given.args[2:] or (given.keywords["sizes"],))), {}))
    dims = (*given.dims[:place], *inner.dims, *given.dims[place + 1 :]) if inner.dims is not None else None
    return Effect(dims, inner.demands)


def _repeated(given: Given) -> Effect:
    counts = given.sizes(1, "repeats")
    if not counts or len(counts) < len(given.dims):
        return Effect()
    padded = [number(1)] * (len(counts) - len(given.dims)) + list(given.dims)
    pairs = zip(padded, counts, strict=True)
    return Effect(tuple(times(a, b) if a is not None and b is not None else None for a, b in pairs))


_KEEP = (
    "float double half long int bool to type_as clone detach contiguous abs neg exp log sqrt rsqrt sigmoid relu tanh "
    "clamp round floor ceil flip roll masked_fill cpu cuda bfloat16 softmax log_softmax gelu silu elu leaky_relu "
    "dropout normalize cumsum cumprod zeros_like ones_like rand_like randn_like empty_like full_like tril triu square "
    "sin cos erf sign reciprocal logical_not isnan isinf isfinite layer_norm softplus mish sort argsort "
    "requires_grad_ mul_ add_ sub_ div_ masked_fill_ clamp_ relu_ nan_to_num log1p log2 log10 expm1 exp2 tan asin acos "
    "atan sinh cosh erfc frac trunc sgn bitwise_not hardtanh hardswish hardsigmoid relu6 selu celu prelu softsign "
    "logsigmoid softmin clip clip_ clamp_min clamp_max zero_ fill_ copy_ exp_ sqrt_ abs_ neg_ tanh_ sigmoid_ round_ "
    "batch_norm group_norm instance_norm rms_norm dropout1d dropout2d alpha_dropout gumbel_softmax bernoulli "
    "index_fill scatter scatter_add index_add index_copy index_fill_ scatter_ scatter_add_ index_add_ index_copy_ pow_"
)
_PAIRED = (
    "add sub mul div where maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor remainder fmod "
    "floor_divide true_divide atan2 lerp addcmul addcdiv pow"
)
_REDUCTIONS = "sum mean prod amax amin argmax argmin any all logsumexp"
# What each gives and asks, by its name as a method or function.
_OPERATIONS: dict[str, Callable[[Given], Effect]] = {
    **dict.fromkeys(_WORDS(_KEEP), lambda given: Effect(dims_of(given.args[0]))),
    **dict.fromkeys(_WORDS(_PAIRED), lambda given: broadcast(given.operands)),
    **dict.fromkeys(("matmul", "bmm", "mm"), lambda given: matmul(given.dims, dims_of(given.value(1, "other")))),
    "linear": _linear,
    # `x.sum(1)`, `x.std(-1)` (whose second argument is no `keepdim`), `x.norm(2, -1)`
    **dict.fromkeys(
        _WORDS(_REDUCTIONS), lambda given: _without(given, given.value(1, "dim"), given.value(2, "keepdim"))
    ),
    **dict.fromkeys(("std", "var"), lambda given: _without(given, given.value(1, "dim"), given.value(3, "keepdim"))),
    "norm": lambda given: _without(given, given.value(2, "dim"), given.value(3, "keepdim")),
    **dict.fromkeys(
        ("transpose", "swapaxes"),
        lambda given: _with_two_swapped(given, given.index(1, "dim0", 0), given.index(2, "dim1", 1)),
    ),
    **dict.fromkeys(("t", "T", "H"), lambda given: Effect(tuple(reversed(given.dims)))),
    **dict.fromkeys(("mT", "mH"), lambda given: _with_two_swapped(given, len(given.dims) - 2, len(given.dims) - 1)),
    "permute": _permuted,
    "unsqueeze": _unsqueezed,
    "squeeze": _squeezed,
    "expand": _expanded,
    "repeat": _repeated,
    **dict.fromkeys(("view", "reshape"), _viewed),
    "flatten": _flattened,
    "unflatten": _unflattened,
    **dict.fromkeys(
        ("new_zeros", "new_ones", "new_empty", "new_full"),
        lambda given: Effect(tuple(sizes) if (sizes := given.sizes()) else None),
    ),
    **dict.fromkeys(("cat", "concat", "concatenate"), _joined),
    "stack": _stacked,
    **dict.fromkeys(("chunk", "tensor_split"), _chunked),
    "split": _split,
    "topk": _topk,
    "unfold": _unfolded,
}


# Indexing.


@dataclass(frozen=True, slots=True)
class Piece:
    """`lower:upper` of an index; an end that is left out is None, one that is not known UNCLEAR."""

    lower: Extent | None = None
    upper: Extent | None = None


UNCLEAR = Extent(-(2**62), math.inf, terms=None)
NEW_DIM = Piece(UNCLEAR, UNCLEAR)  # None in an index


def indexed(dims: Dims, parts: Sequence[Piece | Extent]) -> Effect:
    """`x[1:, None, 3]`: one part for each; dims that no part speaks of stay."""
    found: list[Extent | None] = []
    demands: list[Demand] = []
    rest = list(dims)
    for part in parts:
        if part is NEW_DIM:
            found.append(number(1))
        elif not rest:
            return Effect()
        elif isinstance(part, Extent):
            demands += _reached(rest.pop(0), part)
        else:
            dim, asked = _sliced(rest.pop(0), part)
            found.append(dim)
            demands += asked
    return Effect((*found, *rest), tuple(demands))


def is_no_mask_of(dims: Dims, chosen: Dims) -> bool:
    """Does a tensor with the dims `chosen`, in an index, name places, whatever it holds? A mask has the sizes of what
    it chooses from.

    >>> is_no_mask_of((number(6),), (number(7),)), is_no_mask_of((number(6),), (number(6),))
    (True, False)
    """
    pairs = zip(dims, chosen, strict=False)
    differ = (a.number != b.number for a, b in pairs if a and b and a.number is not None and b.number is not None)
    return len(chosen) > len(dims) or any(differ)


def _reached(dim: Extent | None, index: Extent) -> list[Demand]:
    if dim is None or index.number is None:
        return []
    return [Demand(Need.AT_LEAST, dim, number(index.number + 1 if index.number >= 0 else -index.number))]


def _sliced(dim: Extent | None, part: Piece) -> tuple[Extent | None, list[Demand]]:
    if dim is None or UNCLEAR in (part.lower, part.upper):
        return None, []
    low, high = (_end(dim, end) for end in (part.lower or number(0), part.upper or dim))
    ends = [
        number(-end.low) if end.high < 0 and end.number is not None else end for end in (part.lower, part.upper) if end
    ]
    demands = [Demand(Need.AT_LEAST, dim, end) for end in ends if end != dim]
    high = dim if less(dim, high) is True else high
    return plus(high, low, -1), demands


def _end(dim: Extent, end: Extent) -> Extent:
    """An end as counted from the left."""
    return plus(dim, end) if end.high < 0 else end


# Layers of torch.nn, which keep the sizes that they were constructed with as fields.


_KEEPING_LAYERS = frozenset(
    str.split(
        "LayerNorm RMSNorm BatchNorm1d BatchNorm2d BatchNorm3d Dropout ReLU ReLU6 GELU SiLU Mish Tanh Sigmoid Softmax "
        "LogSoftmax Softplus LeakyReLU ELU Hardtanh Hardsigmoid Hardswish Identity GroupNorm InstanceNorm1d "
        "InstanceNorm2d PReLU CELU SELU Softsign LogSigmoid Softmin Dropout1d Dropout2d AlphaDropout"
    )
)


_RECURRENT_LAYERS = frozenset({"LSTM", "GRU", "RNN"})


def layer_effect(module: Value, args: tuple[Value, ...]) -> Effect:
    """Of calling a layer of torch."""
    dims = dims_of(args[0]) if args else None
    match module.options:
        case (Module(cls=None) as known,) if dims:
            return _of_layer(known, dims)
    return Effect()


def recurrent_parts(module: Value, args: tuple[Value, ...]) -> tuple[Value, ...] | None:
    """What calling an LSTM, GRU or RNN gives, a cell's state as one: the output, and the state that is left."""
    dims = dims_of(args[0]) if args else None
    match module.options:
        case (Module(cls=None, name=str(name)) as known,) if dims:
            gives = _field(known, "gives")
        case _:
            return None
    if gives is None:
        return None
    if name.endswith("LSTMCell"):
        return tensor_of((*dims[:-1], gives)), tensor_of((*dims[:-1], gives))
    setting = {part: exactly(known).field(part) for part in ("layers", "batch_first", "bidirectional", "proj_size")}
    layers = extent_of(setting["layers"]) if setting["layers"] is not None else number(1)
    is_both = (flag := setting["bidirectional"]) is not None and flag.truth is not False
    if is_both or setting["proj_size"] is not None or layers is None:
        return None
    first = setting["batch_first"]
    rows = dims[:-2] if len(dims) < 3 else dims[:1] if first is not None and first.truth else dims[1:2]  # noqa: PLR2004
    state = tensor_of((layers, *rows, gives))
    left = exactly(Container("tuple", state, (state, state))) if name.endswith("LSTM") else state
    return tensor_of((*dims[:-1], gives)), left


def _steps(dims: Dims, batch_first: Value | None) -> tuple[Demand, ...]:
    """torch traces a recurrent layer by running its steps, as many as the sample has."""
    is_first = False if batch_first is None else batch_first.truth
    if is_first is None:
        return ()
    time = dims[1 if is_first and len(dims) > 2 else 0]  # noqa: PLR2004 - rows, steps and features
    return (Demand(Need.PIECES, time, number(1)),) if time and time.dims else ()


def _of_layer(module: Module, dims: Dims) -> Effect:
    name = (module.name or "").rpartition(".")[2]
    takes, gives = (_field(module, part) for part in ("takes", "gives"))
    if name == "Embedding":
        return Effect((*dims, gives))
    if name in {"GRUCell", "RNNCell"}:
        return Effect((*dims[:-1], gives))
    if name in _KEEPING_LAYERS:
        place = 1 if name.startswith("BatchNorm") else -1
        return Effect(dims, equal_sides(dims[place], takes) if takes is not None and len(dims) > 1 else ())
    if name in _RECURRENT_LAYERS:
        return Effect(None, _steps(dims, exactly(module).field("batch_first")))
    if name == "Linear":
        return Effect((*dims[:-1], gives), equal_sides(dims[-1], takes) if takes is not None else ())
    if name == "Flatten" and len(dims) > 1:
        return Effect((dims[0], product(dims[1:])))
    if name.startswith(("MaxPool", "AvgPool")) and name[-1] == "d":
        count = int(name[-2])
        places = [_of_place(module, extent, i, _setting(module, "kernel_size", i, None))
                  for i, extent in enumerate(dims[len(dims) - count :])]  # fmt: skip
        return Effect((*dims[: len(dims) - count], *places) if len(dims) > count else None)
    if name in {"Conv1d", "Conv2d", "Conv3d"} and takes is not None:
        return _convolved(module, dims, int(name[-2]))
    return Effect()


def _convolved(module: Module, dims: Dims, count: int) -> Effect:
    """Channels stand before the places, as many as `count`; a batch dim may stand before them."""
    at = len(dims) - count - 1
    if at not in {0, 1}:
        return Effect()
    places = [_of_place(module, extent, i) for i, extent in enumerate(dims[at + 1 :])]
    return Effect((*dims[:at], _field(module, "gives"), *places), equal_sides(dims[at], _field(module, "takes")))


def _of_place(module: Module, extent: Extent | None, i: int, steps_by: int | None = 1) -> Extent | None:
    """How many places a convolution gives, by the formula of `torch.nn.Conv2d`'s documentation; a pool, likewise."""
    kernel, stride = _setting(module, "kernel_size", i, None), _setting(module, "stride", i, steps_by)
    padding, dilation = _setting(module, "padding", i, 0), _setting(module, "dilation", i, 1)
    if extent is None or kernel is None or stride is None or padding is None or dilation is None:
        return None
    steps = divided(plus(extent, number(2 * padding - dilation * (kernel - 1) - 1)), number(stride))
    return plus(steps, number(1)) if steps is not None else None


def _setting(module: Module, name: str, i: int, default: int | None) -> int | None:
    """A setting for one place: a number, or one of a tuple; None where it is not known."""
    value = exactly(module).field(name)
    if value is None:
        return default
    found = extent_of(value.items[i] if value.items is not None and i < len(value.items) else value)
    return found.number if found is not None else None


def _field(module: Module, name: str) -> Extent | None:
    value = exactly(module).field(name)
    return extent_of(value) if value is not None else None


# Where the dim goes whose size depends on data, after a method or a view. This is known of many more tensors than their
# sizes are, since it needs no sample: it begins at `x[mask]`.


_KEEPING_PLACE = frozenset(
    _WORDS(
        "float double half long int bool to type_as clone detach contiguous abs neg exp log sqrt sigmoid relu tanh add "
        "sub mul div clamp round floor ceil squeeze_ sort flip roll masked_fill cpu cuda bfloat16 requires_grad_ data "
        "expand expand_as view_as real imag softmax log_softmax cumsum masked_fill_ gelu silu normalize dropout "
        "layer_norm linear zeros_like ones_like rand_like randn_like empty_like full_like"
    )
)
_REDUCING = frozenset(_WORDS(f"{_REDUCTIONS} select"))

KEEP_TRACK_OF_DATA_DIM = (
    _KEEPING_PLACE | _REDUCING | {"t", "T", "unsqueeze", "squeeze", "transpose", "swapaxes", "permute", "flatten"}
)


def data_dim_after(at: int, name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> int | None:
    """The place after `x.name(*args)`; None where it is not known, or the dim is gone.

    >>> data_dim_after(0, "clone", (), {}), data_dim_after(0, "numpy", (), {})
    (0, None)
    """
    if name in _KEEPING_PLACE:
        return at
    if name in _REDUCING:
        return _place_after_reduction(at, args, keywords)
    match name:
        case "t" | "T":
            return 1 - at if at < 2 else None  # noqa: PLR2004 - a matrix
        case "unsqueeze":
            place = _place_given(args, keywords)
            return None if place is None else at + 1 if 0 <= place <= at else at
        case "squeeze":
            place = _place_given(args, keywords)
            return at if place is None or place < 0 or place > at else at - 1 if place < at else None
        case "transpose" | "swapaxes":
            return _place_after_swap(at, [_integer(value) for value in args])
        case "permute":
            order = [_integer(value) for value in _given_sizes(args)]
            return order.index(at) if at in order else None
        case "flatten":
            start = _place_given(args, keywords)
            return min(at, start or 0) if start is None or start >= 0 else at
    return None


def data_dim_of_view(sizes: Sequence[Value]) -> int | None:
    """The place in `x.view(*sizes)` of something that has such a dim: what is left to torch, or was read."""
    parts = _given_sizes(sizes)
    left = [i for i, value in enumerate(parts) if _integer(value) == -1]
    return next(iter(left or [i for i, value in enumerate(parts) if value.is_unbacked]), None)


def _place_after_reduction(at: int, args: Sequence[Value], keywords: Mapping[str, Value]) -> int | None:
    place = _place_given(args, keywords)
    keep = keywords.get("keepdim") or (args[1] if len(args) > 1 else None)
    if place is None or place == at:
        return None
    return at if (keep is not None and keep.truth) or place < 0 or place > at else at - 1


def _place_after_swap(at: int, places: list[int | None]) -> int | None:
    """Places that are counted from the right are not known here."""
    if len(places) != 2 or any(place is None or place < 0 for place in places):  # noqa: PLR2004 - of two dims
        return None
    return places[1 - places.index(at)] if at in places else at


def _place_given(args: Sequence[Value], keywords: Mapping[str, Value]) -> int | None:
    given = args[0] if args else keywords.get("dim") or keywords.get("start_dim")
    return _integer(given) if given is not None else None


def _integer(value: Value) -> int | None:
    found = extent_of(value)
    return found.number if found else None


def _given_sizes(args: Sequence[Value]) -> Sequence[Value]:
    """Several numbers, given one by one or as one tuple."""
    return args[0].items if len(args) == 1 and args[0].kind is Kind.CONTAINER and args[0].items is not None else args
