"""What torch asks of the dims of an operation's operands, and what an operation is given."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from exportlint.engine.values.abstract_value import Scalar, Size, Tensor, Value, exactly
from exportlint.engine.values.dims.extents import Extent, equal, less, number
from exportlint.engine.values.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping


Dims: TypeAlias = "tuple[Extent | None, ...]"
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
