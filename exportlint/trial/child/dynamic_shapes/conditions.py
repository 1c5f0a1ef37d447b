"""What an export demands of sizes: ask it of numbers, find the sizes around a sample that keep it."""

from __future__ import annotations

import math
import random
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import sympy
import torch

from exportlint.trial.child.torch_private.symbolic_shapes import python_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from exportlint.trial.protocol.frames import Frame


FROM = 2  # torch treats 0 and 1 as sizes of their own; a symbol stands for 2 or more
LARGE = 1 << 31  # a size that is tried for "any"
LOOK = 96  # so many sizes on either side of the sample show the pattern of a condition
_ENOUGH = 8  # a range with so many sizes is one, whatever the sizes outside look like
_DENSE = 0.9
_PICKS = 400
Pick = dict[Any, int]  # symbol -> size


@dataclass(frozen=True)
class Sizes:
    """`low`, `low + step` … `high`; no end where `high` is None."""

    low: int
    high: int | None
    step: int = 1

    def __contains__(self, size: object) -> bool:
        return (
            isinstance(size, int)
            and size >= self.low
            and (self.high is None or size <= self.high)
            and (size - self.low) % self.step == 0
        )

    @property
    def count(self) -> int:
        """How many; LARGE for no end."""
        return LARGE if self.high is None else (self.high - self.low) // self.step + 1


@dataclass(frozen=True)
class Condition:
    """Something that must hold beyond ranges and equal sizes, and where it was decided.

    `multiple`: a symbol and 8 where it demands just that the symbol is a multiple of 8.
    """

    expr: Any
    frames: tuple[Frame, ...]
    multiple: tuple[Any, int] | None = None

    @property
    def symbols(self) -> frozenset[Any]:
        return frozenset(self.expr.free_symbols)

    def holds(self, pick: Mapping[Any, int]) -> bool:
        """For these sizes; a condition on other symbols is not asked."""
        return not self.symbols <= set(pick) or holds(self.expr, pick)


def holds(expr: Any, pick: Mapping[Any, int]) -> bool:
    """Is the condition true for these sizes?"""
    symbols, asked = _compiled(expr)
    try:
        return bool(asked(*(pick[symbol] for symbol in symbols)))
    except ArithmeticError:
        return False


@cache
def _compiled(expr: Any) -> tuple[list[Any], Callable[..., Any]]:
    symbols = sorted(expr.free_symbols, key=str)
    with suppress(Exception):  # a torch that prints otherwise costs time only
        text = f"lambda {', '.join(map(str, symbols))}: {python_text(expr)}"
        return symbols, eval(text, {"math": math, "torch": torch})  # noqa: S307 - torch's own text of its own expression
    return symbols, lambda *sizes: _substituted(expr, dict(zip(symbols, sizes, strict=True)))


def _substituted(expr: Any, pick: Pick) -> bool:
    return bool(expr.xreplace({symbol: sympy.Integer(value) for symbol, value in pick.items()}) is sympy.true)


def sizes_around(sample: int, keeps: Callable[[int], bool], bounds: Sizes) -> Sizes:
    """The sizes with the sample among them that `keeps` takes: all of a range, or every n-th."""
    low, high = max(bounds.low, sample - LOOK), min(sample + LOOK, bounds.high or LARGE)
    window = {size: keeps(size) for size in range(low, high + 1)}
    plain = _run(window, sample, 1)
    if plain.count < _ENOUGH and sum(window.values()) < _DENSE * len(window):
        others = (_run(window, sample, step) for step in range(2, LOOK // 3))
        best = max([plain, *others], key=lambda run: run.count)
        plain = best if best.count > 2 * plain.count else plain
    step = plain.step
    most = plain.high or sample
    if most + step > high:
        plain = replace(plain, high=_end(most, step, keeps, bounds.high))
    if plain.low - step < low and low > bounds.low:
        plain = replace(plain, low=_end(plain.low, -step, keeps, bounds.low) or bounds.low)
    return plain


def _run(window: Mapping[int, bool], sample: int, step: int) -> Sizes:
    low = high = sample
    while window.get(low - step):
        low -= step
    while window.get(high + step):
        high += step
    return Sizes(low, high, step)


def _end(start: int, step: int, keeps: Callable[[int], bool], bound: int | None) -> int | None:
    """How far it goes on in steps; None for no end."""
    most = (bound - start if bound is not None else LARGE) // step if step > 0 else (start - (bound or 0)) // -step
    good, bad = 0, most + 1
    reach = 1
    while reach < bad and good < most:
        if keeps(start + step * reach):
            good, reach = reach, min(2 * reach, most) if reach < most else bad
        else:
            bad = reach
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if keeps(start + step * middle) else (good, middle)
    return None if bound is None and good == most else start + step * good


def necessary(
    conditions: Sequence[Condition], samples: Mapping[Any, int], ranges: Mapping[Any, Sizes]
) -> list[Condition]:
    """The conditions that no other ones imply, as far as many sizes show; the simplest ones are kept."""
    known = list({c.expr: c for c in conditions}.values())
    picks = list(_telling_picks(known, samples, ranges))
    failing = {c: frozenset(i for i, pick in enumerate(picks) if not holds(c.expr, pick)) for c in known}
    kept = [c for c in known if failing[c]]
    for one in sorted(kept, key=lambda c: -sympy.count_ops(c.expr)):
        others = frozenset().union(*(failing[c] for c in kept if c is not one))
        if failing[one] <= others:
            kept = [c for c in kept if c is not one]
    return kept


def _telling_picks(
    conditions: Sequence[Condition], samples: Mapping[Any, int], ranges: Mapping[Any, Sizes]
) -> Iterator[Pick]:
    """Small and large sizes, equal ones, and those at which a condition turns."""
    draw = random.Random(0)  # noqa: S311 - no secret
    turns = {root: sorted(set(_turns(conditions, samples, ranges, root))) for root in samples}
    for root, sizes in turns.items():
        yield from ({**samples, root: size} for size in sizes)
    for one in samples:
        for other in samples:
            yield from ({**samples, one: size, other: size} for size in turns[one][:8] if size in ranges[other])
    for _ in range(_PICKS):
        yield {root: draw.choice(sizes) for root, sizes in turns.items()}


def _turns(
    conditions: Sequence[Condition], samples: Mapping[Any, int], ranges: Mapping[Any, Sizes], root: Any
) -> Iterator[int]:
    sample, bounds = samples[root], ranges[root]
    near = [*range(bounds.low, bounds.low + 9), *range(sample - 4, sample + 9)]
    far = [sample * 2**power + more for power in range(1, 12) for more in (0, 1)]
    keeping = [partial(_with, c.expr, samples, root) for c in conditions if root in c.symbols]
    runs = [sizes_around(sample, keeps, bounds) for keeps in keeping]
    ends = [end + more for run in runs for end in (run.low, run.high) if end is not None for more in (-1, 0, 1)]
    yield from (size for size in [*near, *far, *ends, sample] if size in replace(bounds, step=1))


def _with(expr: Any, samples: Mapping[Any, int], root: Any, size: int) -> bool:
    return holds(expr, {**samples, root: size})


def fails_beyond(
    conditions: Collection[Condition], samples: Mapping[Any, int], root: Any, size: int
) -> list[Condition]:
    """The conditions that a size breaks, where all other sizes are the sample's."""
    return [c for c in conditions if root in c.symbols and not holds(c.expr, {**samples, root: size})]


# Write a condition on sizes as people do: "height/4 must be at least 2".


_RELATIONS = {
    "Eq": "must be",
    "Ne": "must not be",
    "Lt": "must be less than",
    "StrictLessThan": "must be less than",
    "Le": "must be at most",
    "LessThan": "must be at most",
    "Gt": "must be more than",
    "StrictGreaterThan": "must be more than",
    "Ge": "must be at least",
    "GreaterThan": "must be at least",
    "Equality": "must be",
    "Unequality": "must not be",
}
_LONG = 160
_QUOTIENTS = frozenset({"FloorDiv", "CleanDiv", "IntTrueDiv"})
_TIMES = " × "
_REMAINDERS = frozenset({"Mod", "PythonMod"})


def sentence(expr: Any, called: Mapping[Any, str]) -> str:
    """The condition with the names of the dims."""
    text = _statement(expr, called)
    if len(text) > _LONG:
        concerned = [name for root, name in called.items() if root in expr.free_symbols]
        return f"something must hold of {' and '.join(concerned)} that is too long to say"
    return f"{text} (quotients are rounded down)" if _divides(expr) else text


def _divides(expr: Any) -> bool:
    return any(type(part).__name__ == "FloorDiv" for part in sympy.preorder_traversal(expr))


def _statement(expr: Any, called: Mapping[Any, str]) -> str:
    if isinstance(expr, (sympy.And, sympy.Or)):
        word = " and " if isinstance(expr, sympy.And) else " or "
        return word.join(_statement(part, called) for part in expr.args)
    if isinstance(expr, sympy.Not):
        return f"it must not hold that {_statement(expr.args[0], called)}"
    relation = _RELATIONS.get(type(expr).__name__)
    if relation is None:
        return written(expr, called)
    left, right = expr.args
    if left.is_number and not right.is_number:
        expr = expr.reversed
        (left, right), relation = expr.args, _RELATIONS[type(expr).__name__]
    if type(left).__name__ in _REMAINDERS and right == 0 and isinstance(expr, (sympy.Eq, sympy.Ne)):
        what, number = (written(part, called, 1) for part in left.args)
        return f"{what} {relation} a multiple of {number}"
    return f"{written(left, called)} {relation} {written(right, called)}"


def written(expr: Any, called: Mapping[Any, str], inside: int = 0) -> str:
    """A size that is computed from others.

    inside   0 stands alone, 1 in a sum or a comparison, 2 in a product, 3 in a quotient
    """
    if expr.is_Symbol:
        return called.get(expr, str(expr))
    if expr.is_Add:
        return _bracketed(_sum(expr, called), inside > 1)
    if expr.is_Mul:
        return _bracketed(_product(expr, called), inside > 2)  # noqa: PLR2004 - see above
    name = type(expr).__name__
    if name in _QUOTIENTS:
        top, bottom = expr.args
        return f"{written(top, called, 3)}/{written(bottom, called, 3)}"
    if name in _REMAINDERS:
        what, number = (written(part, called, 2) for part in expr.args)
        return _bracketed(f"{what} mod {number}", inside > 0)
    if name in {"Max", "Min"}:
        return f"{name.lower()}({', '.join(written(part, called) for part in expr.args)})"
    return str(expr.xreplace({root: sympy.Symbol(text) for root, text in called.items()}))


def _sum(expr: Any, called: Mapping[Any, str]) -> str:
    """Names first, numbers last, as torch's own order is of no use to a reader."""
    first = _order(called)
    parts = sorted(expr.args, key=lambda part: (part.is_number, _is_negative(part), first(part)))
    text = written(parts[0], called, 1)
    for part in parts[1:]:
        negative = _is_negative(part)
        text += f" - {written(-part, called, 1)}" if negative else f" + {written(part, called, 1)}"
    return text


def _is_negative(part: Any) -> bool:
    return bool(part.could_extract_minus_sign())


def _product(expr: Any, called: Mapping[Any, str]) -> str:
    if _is_negative(expr):
        return f"-{written(-expr, called, 2)}"
    return _TIMES.join(written(part, called, 2) for part in sorted(expr.args, key=_order(called)))


def _order(called: Mapping[Any, str]) -> Callable[[Any], int]:
    """By the inputs, whose order the names have."""
    order = {root: index for index, root in enumerate(called)}
    return lambda part: min((order.get(root, 0) for root in part.free_symbols), default=-1)


def _bracketed(text: str, needed: bool) -> str:
    return f"({text})" if needed else text
