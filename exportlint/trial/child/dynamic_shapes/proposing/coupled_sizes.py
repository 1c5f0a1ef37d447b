"""Sizes that follow each other by a division: frames are every fourth sample, so both are written with one symbol.

A program that takes `wave` of 4 n samples and `mel` of n frames is declared with a Dim for n. Torch keeps such a pair
as an equation with a quotient that is rounded down, which it does not solve.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import sympy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.dynamic_shapes.conditions import Condition
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace


_MOST_STEPS = 512
_LOOK = 24  # so many sizes show that a quotient grows evenly


class Couple(NamedTuple):
    """`one` is step n + rest, and `other` is factor n + more, as the condition demands."""

    condition: Condition
    one: Any
    step: int
    rest: int
    other: Any
    factor: int
    more: int


def couple_sizes(trace: SymbolicTrace) -> None:
    """Write pairs of sizes that an equation binds with one symbol, where one grows evenly with steps of the other."""
    while found := next(_couples(trace), None):
        shared = sympy.Symbol(f"{found.one}x{found.step}", integer=True, positive=True)
        one, other = found.step * shared + found.rest, found.factor * shared + found.more
        (low, high), (least, most) = trace.ranges[found.one], trace.ranges[found.other]
        lows = [-(-(low - found.rest) // found.step), -(-(least - found.more) // found.factor), 1]
        highs = [
            (end - rest) // step
            for end, rest, step in ((high, found.rest, found.step), (most, found.more, found.factor))
            if end is not None
        ]
        trace.coupled[shared] = found.condition.frames
        trace.substitute({found.one: one, found.other: other}, {shared: (max(lows), min(highs, default=None))})


def _couples(trace: SymbolicTrace) -> Iterator[Couple]:
    samples = trace.samples()
    for condition in trace.conditions:
        for one, other, quotient in _quotients(condition):
            if one in trace.ranges and other in trace.ranges and (even := _even(quotient, one, samples[one])):
                step, factor, more = even
                rest = samples[one] % step
                if factor * (samples[one] // step) + more == samples[other]:
                    yield Couple(condition, one, step, rest, other, factor, more)


def _quotients(condition: Condition) -> Iterator[tuple[Any, Any, Any]]:
    """Of an equation: a symbol, another, and the other as it is computed from the first."""
    if not isinstance(condition.expr, sympy.Eq) or len(condition.symbols) != 2:  # noqa: PLR2004 - a pair
        return
    difference = sympy.expand(condition.expr.lhs - condition.expr.rhs)
    for other in sorted(condition.symbols, key=str):
        factor = difference.coeff(other, 1)
        remaining = sympy.expand(difference - factor * other)
        if factor in (1, -1) and other not in remaining.free_symbols:
            (one,) = condition.symbols - {other}
            yield one, other, -factor * remaining


def _even(quotient: Any, one: Any, sample: int) -> tuple[int, int, int] | None:
    """The least step of the one with which the quotient grows evenly, by how much, and its start."""
    for step in range(2, min(sample, _MOST_STEPS) + 1):
        start, rest = sample // step, sample % step
        numbers = range(max(1, start - 2), start + _LOOK)
        values = [_value(quotient, one, step * number + rest) for number in numbers]
        growths = {b - a for a, b in pairwise(values)}
        if len(growths) == 1 and (factor := growths.pop()) > 0:
            return step, factor, values[0] - factor * numbers[0]
    return None


def _value(quotient: Any, one: Any, size: int) -> int:
    return int(quotient.xreplace({one: sympy.Integer(size)}))
