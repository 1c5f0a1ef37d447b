"""What dims an operation of torch gives, and what it demands of the dims that it is given."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING, TypeAlias

from exportlint.engine.values.abstract_value import Module, Scalar, Size, Tensor, Value
from exportlint.engine.values.extents import Extent, equal, less, number, plus, times

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence


Dims: TypeAlias = "tuple[Extent | None, ...]"
_WORDS = str.split


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
    def tensors(self) -> list[Dims | None]:
        return [dims_of(value) for value in (*self.args, *self.keywords.values()) if value.is_tensor]

    def value(self, place: int, name: str) -> Value | None:
        return self.args[place] if len(self.args) > place else self.keywords.get(name)

    def index(self, place: int, name: str, default: int) -> int | None:
        """A dim that is named by its place; None where it is not known."""
        value = self.value(place, name)
        if value is None:
            return default
        found = extent_of(value)
        return found.number if found else None

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
    """The dims of what is a tensor on every path."""
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
    inner = _equal(left[-1], right[-2])
    return Effect((*rest.dims, left[-2], right[-1]) if rest.dims is not None else None, (*rest.demands, *inner))


def _equal(a: Extent | None, b: Extent | None) -> tuple[Demand, ...]:
    return (Demand(Need.EQUAL, a, b),) if a is not None and b is not None and a != b else ()


def _elementwise(given: Given) -> Effect:
    return broadcast(given.tensors)


def _keeps(given: Given) -> Effect:
    return Effect(given.dims)


def _matmul(given: Given) -> Effect:
    return matmul(given.dims, dims_of(given.value(1, "other")))


def _reduced(given: Given) -> Effect:
    """`x.sum(1)`, `x.mean(dim=(1, 2), keepdim=True)`."""
    value = given.value(1, "dim")
    if value is None or value.kind.value == "None":
        return Effect(())
    places = [extent_of(item) for item in value.items] if value.items is not None else [extent_of(value)]
    if any(place is None or place.number is None for place in places):
        return Effect()
    gone = {place.number % len(given.dims) for place in places if place and place.number is not None and given.dims}
    keep = given.value(2, "keepdim")
    left = (number(1) if i in gone else extent for i, extent in enumerate(given.dims) if keep or i not in gone)
    return Effect(tuple(left))


def _transposed(given: Given) -> Effect:
    a, b = given.index(1, "dim0", 0), given.index(2, "dim1", 1)
    if a is None or b is None or max(a, b) >= len(given.dims):
        return Effect()
    dims = list(given.dims)
    dims[a], dims[b] = dims[b], dims[a]
    return Effect(tuple(dims))


def _permuted(given: Given) -> Effect:
    order = [extent.number if extent else None for extent in given.sizes(1, "dims") or []]
    if not order or len(order) != len(given.dims) or any(place is None for place in order):
        return Effect()
    return Effect(tuple(given.dims[place] for place in order if place is not None))


def _turned(given: Given) -> Effect:
    return Effect(tuple(reversed(given.dims)))


def _unsqueezed(given: Given) -> Effect:
    place = given.index(1, "dim", 0)
    if place is None:
        return Effect()
    dims = list(given.dims)
    dims.insert(place if place >= 0 else len(dims) + 1 + place, number(1))
    return Effect(tuple(dims))


def _squeezed(given: Given) -> Effect:
    place = given.index(1, "dim", 99)
    if place is None or place == 99 or not -len(given.dims) <= place < len(given.dims):  # noqa: PLR2004 - none given
        return Effect()
    at = given.dims[place]
    if at is None or at.dims:
        return Effect()
    dims = list(given.dims)
    if at.number == 1:
        del dims[place]
    return Effect(tuple(dims))


def _expanded(given: Given) -> Effect:
    wanted = given.sizes()
    if not wanted or len(wanted) < len(given.dims):
        return Effect()
    padded = [number(1)] * (len(wanted) - len(given.dims)) + list(given.dims)
    kept = [a if b is not None and b.number == -1 else b for a, b in zip(padded, wanted, strict=True)]
    pairs = ((a, b) for a, b in zip(padded, kept, strict=True) if a is not None and a.number != 1)
    return Effect(tuple(kept), tuple(demand for a, b in pairs for demand in _equal(a, b)))


def _joined(given: Given) -> Effect:
    """`torch.cat`: equal but for one dim, which is the sum."""
    parts = [dims_of(item) for item in given.args[0].items or ()]
    place = given.index(1, "dim", 0)
    rows = [dims for dims in parts if dims is not None]
    if place is None or len(rows) < len(parts) or not rows or len({len(dims) for dims in rows}) > 1:
        return Effect()
    place %= len(rows[0])
    demands = [d for i in range(len(rows[0])) if i != place for dims in rows[1:] for d in _equal(rows[0][i], dims[i])]
    whole: Extent | None = number(0)
    for dims in rows:
        whole = plus(whole, at) if whole is not None and (at := dims[place]) is not None else None
    return Effect((*rows[0][:place], whole, *rows[0][place + 1 :]), tuple(demands))


def _stacked(given: Given) -> Effect:
    parts = [dims_of(item) for item in given.args[0].items or ()]
    place = given.index(1, "dim", 0)
    if place is None or not parts or any(dims is None or len(dims) != len(parts[0] or ()) for dims in parts):
        return Effect()
    same = broadcast(parts)
    dims = list(same.dims or ())
    dims.insert(place if place >= 0 else len(dims) + 1 + place, number(len(parts)))
    return Effect(tuple(dims), same.demands)


def _pieces(given: Given) -> Effect:
    """`x.chunk(2, 1)`, `x.split(4, 1)`: torch keeps the number of pieces that the sample gave."""
    place, size = given.index(2, "dim", 0), extent_of(given.args[1]) if len(given.args) > 1 else None
    if place is None or size is None or not -len(given.dims) <= place < len(given.dims):
        return Effect()
    at = given.dims[place]
    demands = (Demand(Need.PIECES, at, size),) if at is not None and at.dims else ()
    return Effect(None, demands)


def pieces(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Dims | None:
    """The dims of each piece of `x.chunk(3, -1)`, where all are alike."""
    given = Given(args, keywords)
    place = given.index(2, "dim", 0)
    size = extent_of(args[1]) if len(args) > 1 and dims_of(args[0]) is not None else None
    if place is None or size is None or size.number is None or not -len(given.dims) <= place < len(given.dims):
        return None
    at, place = given.dims[place], place % len(given.dims)
    if at is None or at.number is None or size.number < 1 or at.number % size.number:
        return None
    each = size if name == "split" else number(at.number // size.number)
    return (*given.dims[:place], each, *given.dims[place + 1 :])


def _best(given: Given) -> Effect:
    place, wanted = given.index(2, "dim", -1), extent_of(given.args[1]) if len(given.args) > 1 else None
    if place is None or wanted is None or not -len(given.dims) <= place < len(given.dims):
        return Effect()
    at = given.dims[place]
    return Effect(None, (Demand(Need.AT_LEAST, at, wanted),) if at is not None and at.dims else ())


def _windows(given: Given) -> Effect:
    place, wanted = given.index(1, "dimension", 0), given.value(2, "size")
    size = extent_of(wanted) if wanted else None
    at = given.dims[place] if place is not None and -len(given.dims) <= place < len(given.dims) else None
    return Effect(None, (Demand(Need.AT_LEAST, at, size),) if at and at.dims and size else ())


def _selected(given: Given) -> Effect:
    """`F.linear(x, weight)`: the last dim has to be what the weight takes."""
    weight = dims_of(given.value(1, "weight"))
    if not given.dims or weight is None or len(weight) != 2:  # noqa: PLR2004 - a matrix
        return Effect()
    return Effect((*given.dims[:-1], weight[0]), _equal(given.dims[-1], weight[1]))


def layer(module: Module, given: Given) -> Effect:
    """Calling a layer of torch."""
    name = (module.name or "").rpartition(".")[2]
    takes, gives = (_field(module, part) for part in ("takes", "gives"))
    dims = given.dims
    if not dims:
        return Effect()
    if name == "Embedding":
        return Effect((*dims, gives))
    if name in _KEEPING_LAYERS:
        place = 1 if name.startswith("BatchNorm") else -1
        return Effect(dims, _equal(dims[place], takes) if takes is not None and len(dims) > 1 else ())
    if name == "Linear":
        return Effect((*dims[:-1], gives), _equal(dims[-1], takes) if takes is not None else ())
    if name.startswith("Conv") and len(dims) > 2 and takes is not None:  # noqa: PLR2004 - batch, channels, places
        return Effect((dims[0], gives, *(None for _ in dims[2:])), _equal(dims[1], takes))
    return Effect()


def _field(module: Module, name: str) -> Extent | None:
    value = next((value for key, value in module.fields if key == name), None)
    return extent_of(value) if value is not None else None


_KEEPING_LAYERS = frozenset(
    _WORDS(
        "LayerNorm RMSNorm BatchNorm1d BatchNorm2d BatchNorm3d Dropout ReLU ReLU6 GELU SiLU Mish Tanh Sigmoid Softmax "
        "LogSoftmax Softplus LeakyReLU ELU Hardtanh Hardsigmoid Hardswish Identity"
    )
)
_KEEP = (
    "float double half long int bool to type_as clone detach contiguous abs neg exp log sqrt rsqrt sigmoid relu tanh "
    "clamp round floor ceil flip roll masked_fill cpu cuda bfloat16 softmax log_softmax gelu silu elu leaky_relu "
    "dropout normalize cumsum cumprod zeros_like ones_like rand_like randn_like empty_like full_like tril triu square "
    "sin cos erf sign reciprocal logical_not isnan isinf isfinite layer_norm softplus mish sort argsort "
    "requires_grad_ mul_ add_ sub_ div_ masked_fill_ clamp_ relu_ nan_to_num pow"
)
_PAIRED = (
    "add sub mul div where maximum minimum eq ne lt le gt ge logical_and logical_or logical_xor remainder fmod "
    "floor_divide true_divide atan2 lerp addcmul addcdiv mse_loss l1_loss"
)
_REDUCES = "sum mean prod amax amin argmax argmin any all norm std var logsumexp"
OPERATIONS: dict[str, Callable[[Given], Effect]] = {
    **dict.fromkeys(_WORDS(_KEEP), _keeps),
    **dict.fromkeys(_WORDS(_PAIRED), _elementwise),
    **dict.fromkeys(_WORDS(_REDUCES), _reduced),
    **dict.fromkeys(("matmul", "bmm", "mm"), _matmul),
    **dict.fromkeys(("transpose", "swapaxes"), _transposed),
    **dict.fromkeys(("t", "T", "mT"), _turned),
    **dict.fromkeys(("cat", "concat", "concatenate"), _joined),
    **dict.fromkeys(("chunk", "split", "tensor_split"), _pieces),
    "permute": _permuted,
    "unsqueeze": _unsqueezed,
    "squeeze": _squeezed,
    "expand": _expanded,
    "stack": _stacked,
    "topk": _best,
    "unfold": _windows,
    "linear": _selected,
}
