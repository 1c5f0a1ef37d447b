"""Find which expression of an operator's arguments a size of its results is."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations, permutations
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


Numbers = Mapping[str, int]
Calls = Sequence[tuple[Numbers, int]]  # the numbers of each call by the expressions that give them, and the size
_MOST_SHIFT, _MOST_FACTOR = 16, 64
_IN_LIST = re.compile(r"(?P<list>\w+)\[(?P<index>\d+)\]\.shape\[(?P<dim>\d+)\]")
_ENOUGH = 3  # sizes that must agree before two unknown numbers are read from them


class Expression(NamedTuple):
    """Python, and the same as a function of the numbers that it names."""

    text: str
    compute: Callable[..., int]
    names: tuple[str, ...] = ()

    def gives(self, calls: Calls) -> bool:
        """Is it the size in every call?"""
        try:
            return all(self.compute(*(numbers[name] for name in self.names)) == size for numbers, size in calls)
        except (KeyError, ZeroDivisionError):
            return False


def depends_on_data(calls: Calls) -> bool:
    """Was the size another in two calls whose arguments had the same sizes and numbers?"""
    seen: dict[tuple[tuple[str, int], ...], set[int]] = {}
    for numbers, size in calls:
        seen.setdefault(tuple(sorted(numbers.items())), set()).add(size)
    return any(len(sizes) > 1 for sizes in seen.values())


def expression_of(calls: Calls) -> str | None:
    """The expression that gives the size in every call; None where none of those that are tried does.

    >>> calls = [({"x.shape[0]": 5, "k": 2}, 10), ({"x.shape[0]": 7, "k": 2}, 14), ({"x.shape[0]": 5, "k": 3}, 15)]
    >>> expression_of(calls)
    'x.shape[0] * k'
    """
    names = [name for name in calls[0][0] if all(name in numbers for numbers, _ in calls)]
    varied = [name for name in names if len({numbers[name] for numbers, _ in calls}) > 1]
    found = (one.text for one in _tried(names, varied, calls) if one.gives(calls))
    return next(found, None) or _sum_over_list(calls)


def _tried(names: Sequence[str], varied: Sequence[str], calls: Calls) -> Iterator[Expression]:
    """The simplest first. What never varied shows nothing."""
    yield from (Expression(name, int, (name,)) for name in varied)
    yield Expression(str(calls[0][1]), partial(int, calls[0][1]))
    yield from _of_all_dims(names, varied)
    yield from _of_two(varied)
    for name in varied:
        if len({numbers[name] for numbers, _ in calls}) >= _ENOUGH:
            yield from _lines(name)


_SYMMETRIC: Mapping[str, Callable[[int, int], int]] = {
    "{} * {}": operator.mul,
    "{} + {}": operator.add,
    "min({}, {})": min,
    "max({}, {})": max,
}
_ORDERED: Mapping[str, Callable[[int, int], int]] = {
    "{} - {}": operator.sub,
    "{} - {} + 1": lambda a, b: a - b + 1,
    "{} // {}": operator.floordiv,
}


def _of_two(names: Sequence[str]) -> Iterator[Expression]:
    for table, pairs in ((_SYMMETRIC, combinations(names, 2)), (_ORDERED, permutations(names, 2))):
        for one, other in pairs:
            if not _list_of(one) or _list_of(one) != _list_of(other):  # else true for so many tensors only
                yield from (Expression(text.format(one, other), both, (one, other)) for text, both in table.items())


def _list_of(name: str) -> str:
    found = _IN_LIST.fullmatch(name)
    return found["list"] if found else ""


def _of_all_dims(names: Sequence[str], varied: Sequence[str]) -> Iterator[Expression]:
    """`x.numel()`."""
    for tensor in dict.fromkeys(name.partition(".shape[")[0] for name in varied if ".shape[" in name):
        dims = tuple(name for name in names if name.startswith(f"{tensor}.shape["))
        yield Expression(f"{tensor}.numel()", lambda *sizes: math.prod(sizes), dims)


def _lines(name: str) -> Iterator[Expression]:
    """A number times, plus or by a constant; or `(n + a) // b`, as a window that moves over it gives it."""
    for factor in range(2, _MOST_FACTOR + 1):
        yield Expression(f"{name} * {factor}", partial(operator.mul, factor), (name,))
    for factor in range(1, _MOST_FACTOR + 1):
        for shift in sorted(range(-_MOST_SHIFT, _MOST_SHIFT + 1), key=abs):
            moved = f"{name} {'-' if shift < 0 else '+'} {abs(shift)}" if shift else name
            text = f"{f'({moved})' if shift else moved} // {factor}" if factor > 1 else moved
            yield Expression(text, partial(_moved, shift, factor), (name,))


def _moved(shift: int, factor: int, number: int) -> int:
    return (number + shift) // factor


def _sum_over_list(calls: Calls) -> str | None:
    """Over all tensors of a list, however many each call had."""
    for first in filter(None, map(_IN_LIST.fullmatch, calls[0][0])):
        start, end = f"{first['list']}[", f"].shape[{first['dim']}]"
        if all(sum(_sizes(numbers, start, end)) == size for numbers, size in calls):
            return f"sum(one{end[1:]} for one in {first['list']})"
    return None


def _sizes(numbers: Numbers, start: str, end: str) -> Iterator[int]:
    return (size for name, size in numbers.items() if name.startswith(start) and name.endswith(end))
