"""What `view`, `flatten`, indexing and the makers of tensors give, by the sizes that they are told."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from exportlint.engine.values.dims.extents import Extent, divided, equal, less, number, plus, remainder, times
from exportlint.engine.values.dims.needs import Demand, Dims, Effect, Given, Need, dims_of, extent_of, tensor_of
from exportlint.engine.values.dims.shapes import OPERATIONS, product

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.engine.values.abstract_value import Value


_MAKERS = frozenset({"zeros", "ones", "empty", "rand", "randn", "full", "randint"})
_OTHER_NAMES = {"axis": "dim", "keepdims": "keepdim", "axis0": "dim0", "axis1": "dim1"}
_NEW = frozenset({"new_zeros", "new_ones", "new_empty", "new_full"})


def effect(name: str, args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Effect:
    """Of a function or method of torch, by its last name; `args[0]` is the tensor of a method.

    >>> effect("add", (), {})
    Effect(dims=None, demands=())
    """
    given = _given(args, keywords)
    if name in _MAKERS:
        return Effect(_made(name, given))
    if name == "arange":
        return Effect(_arange(given))
    known = _RESHAPES.get(name) or OPERATIONS.get(name)
    if known is None or not given.args:
        return Effect()
    parts = given.args[0].items if given.args[0].items is not None else given.args
    return known(given) if any(dims_of(part) is not None for part in (*parts, *keywords.values())) else Effect()


def _given(args: tuple[Value, ...], keywords: Mapping[str, Value]) -> Given:
    """With one name for each thing, where torch takes two."""
    named = {_OTHER_NAMES.get(name, name): value for name, value in keywords.items()}
    first = next((named.pop(name) for name in ("input", "tensors") if name in named), None) if not args else None
    return Given(args if first is None else (first,), named)


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


def _new(given: Given) -> Effect:
    return Effect(tuple(sizes) if (sizes := given.sizes()) else None)


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


_RESHAPES = {
    **dict.fromkeys(("view", "reshape"), _viewed),
    **dict.fromkeys(_NEW, _new),
    "flatten": _flattened,
    "unflatten": _unflattened,
    "repeat": _repeated,
}
