"""How many elements a dim has: a number, or what is known of one that `dynamic_shapes` declares dynamic.

An `Extent` is an interval, and a linear sum of declared dims as long as it can be one: `2 * time + 1` and `1 + time *
2` are then seen to be equal for every size, which intervals alone never show. Answers have three values: for every size
of the range, for none, or for some of them.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field
from typing import TypeAlias


class Declaration(enum.Enum):
    """How a dim is declared dynamic, which decides what torch says when the model narrows it.

    >>> Declaration("Dim.AUTO").name
    'AUTO'
    """

    NAMED = "Dim"  # every size of its range has to work
    DYNAMIC = "Dim.DYNAMIC"  # it may be narrowed, and may not become a constant
    AUTO = "Dim.AUTO"  # it may become a constant

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class DeclaredDim:
    """A dim that is declared dynamic. Two of one name are one dim; `index` is where it stands in its tensor, `sample`
    its size in the sample."""

    name: str
    low: int = 0
    high: float = math.inf
    how: Declaration = Declaration.NAMED
    index: int = field(default=0, compare=False)
    sample: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Extent:
    """From `low` to `high`. `terms` and `offset`: it is `sum(factor * dim) + offset`; None where it is no such sum."""

    low: int
    high: float
    dims: frozenset[DeclaredDim] = frozenset()
    terms: tuple[tuple[DeclaredDim, int], ...] | None = ()
    offset: int = 0

    @property
    def number(self) -> int | None:
        """The number that it is, where no declared dim is in it."""
        return self.low if not self.dims and self.low == self.high else None

    @property
    def plain(self) -> bool:
        """Is it a declared dim as it is?"""
        return self.terms is not None and len(self.terms) == 1 and self.terms[0][1] == 1 and self.offset == 0


Dims: TypeAlias = "tuple[Extent | None, ...]"  # of a tensor


def number(n: int) -> Extent:
    """
    >>> number(3).number
    3
    """
    return Extent(n, n, offset=n)


def declared(dim: DeclaredDim) -> Extent:
    """
    >>> plus(declared(DeclaredDim("time", 2, 64)), number(1)).high
    65
    """
    return Extent(dim.low, dim.high, frozenset({dim}), ((dim, 1),))


def plus(a: Extent, b: Extent, factor: int = 1) -> Extent:
    """`a + factor * b`."""
    dims = a.dims | b.dims
    if a.terms is None or b.terms is None:
        ends = (b.low * factor, b.high * factor)
        return Extent(_whole(a.low + min(ends)), a.high + max(ends), dims, None)
    terms = dict(a.terms)
    for dim, times in b.terms:
        terms[dim] = terms.get(dim, 0) + times * factor
    return _linear({dim: times for dim, times in terms.items() if times}, a.offset + b.offset * factor)


def times(a: Extent, b: Extent) -> Extent:
    """`a * b`."""
    for one, other in ((a, b), (b, a)):
        if (n := one.number) is not None:
            return plus(number(0), other, n)
    ends = [x * y for x in (a.low, a.high) for y in (b.low, b.high) if not (0 in (x, y) and math.inf in (x, y))] or [0]
    return Extent(_whole(min(ends)), max(ends), a.dims | b.dims, None)


def divided(a: Extent, b: Extent) -> Extent | None:
    """`a // b`."""
    n = b.number
    if n is None or n <= 0:
        return None
    if a.terms is not None and all(factor % n == 0 for _, factor in a.terms):
        return _linear({dim: factor // n for dim, factor in a.terms}, a.offset // n)
    return Extent(a.low // n, a.high // n if a.high != math.inf else a.high, a.dims, None)


def remainder(a: Extent, b: Extent) -> Extent | None:
    """`a % b`."""
    n = b.number
    if n is None or n <= 0:
        return None
    if a.terms is not None and all(factor % n == 0 for _, factor in a.terms):
        return number(a.offset % n)
    return Extent(0, n - 1, a.dims, None)


def joined(a: Extent | None, b: Extent | None) -> Extent | None:
    """What holds of either."""
    if a is None or b is None or a == b:
        return a if a == b else None
    return Extent(min(a.low, b.low), max(a.high, b.high), a.dims | b.dims, None)


def equal(a: Extent, b: Extent) -> bool | None:
    """Are they equal for every size in their ranges (True), for none (False), or for some (None)?"""
    gap = plus(a, b, -1)
    if (gap.terms == () and gap.offset == 0) or gap.low == gap.high == 0:
        return True
    return False if gap.low > 0 or gap.high < 0 else None


def less(a: Extent, b: Extent) -> bool | None:
    """`a < b`, by the same three answers."""
    gap = plus(a, b, -1)
    return True if gap.high < 0 else False if gap.low >= 0 else None


def _linear(terms: dict[DeclaredDim, int], offset: int) -> Extent:
    ends = [(factor * dim.low, factor * dim.high) for dim, factor in terms.items()]
    low, high = sum(map(min, ends)) + offset, sum(map(max, ends)) + offset
    ordered = tuple(sorted(terms.items(), key=lambda item: item[0].name))
    return Extent(_whole(low), high, frozenset(terms), ordered, offset)


def _whole(low: float) -> int:
    """The lower end; one that is open is as low as torch's own sizes never are."""
    return -(2**62) if low == -math.inf else int(low)
