"""Which sizes may move together: ranges of sizes for which every condition holds, whichever of them are combined."""

from __future__ import annotations

import itertools
import random
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import sympy

from exportlint.trial.child.dynamic_shapes.conditions import LARGE, Condition, Pick, Sizes, holds, sizes_around

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence


_GROWTH = 8  # the ranges grow together in so many steps, so that none takes all
_COMBINED = 400  # so many combinations of sizes are asked of a condition
_FEW = 8  # an equation that leaves fewer sizes than these is meant for one size


@dataclass
class FreeSizes:
    """`sizes` of the symbols that may move; `fixed`: those that may not, each with the condition that asks it."""

    sizes: dict[Any, Sizes] = field(default_factory=dict)
    fixed: dict[Any, Condition | None] = field(default_factory=dict)
    limiting: list[Condition] = field(default_factory=list)


@dataclass(frozen=True)
class _Demands:
    """`samples` must stay inside, `others` (sizes that are wanted too) where that can be."""

    conditions: Sequence[Condition]
    samples: Pick
    ranges: Mapping[Any, Sizes]
    others: Sequence[Pick]


def free_sizes(
    conditions: Sequence[Condition],
    samples: Pick,
    ranges: Mapping[Any, Sizes],
    others: Sequence[Pick] = (),
    fixed: Collection[Any] = (),
) -> FreeSizes:
    """Find ranges of sizes around the samples within which every combination keeps all conditions.

    others   sizes that are wanted within the ranges, where the conditions allow it
    fixed    symbols that stay as they are in the sample
    """
    asked = _Demands(conditions, samples, ranges, [pick for pick in others if _keeps(conditions, pick)])
    found = FreeSizes(fixed=dict.fromkeys(fixed))
    while True:
        free = [root for root in ranges if root not in found.fixed]
        alone = {root: _alone(asked, root) for root in free}
        found.fixed |= {root: cause for root in free if (cause := _thin(asked, root, alone[root])) is not None}
        if any(root in found.fixed for root in free):
            continue
        found.sizes = _together(asked, alone)
        squeezed = _squeezed(asked, alone, found.sizes)
        if squeezed is None:
            break
        found.fixed |= squeezed
    found.limiting = [c for c in conditions if len(c.symbols & set(found.sizes)) and _limits(c, asked, found)]
    return found


def _keeps(conditions: Sequence[Condition], pick: Pick) -> bool:
    return all(c.holds(pick) for c in conditions)


def _alone(asked: _Demands, root: Any) -> Sizes:
    """The sizes that the conditions leave, where all others are the sample's."""
    own = [c for c in asked.conditions if root in c.symbols]

    def keeps(size: int) -> bool:
        return all(holds(c.expr, {**asked.samples, root: size}) for c in own)

    return sizes_around(asked.samples[root], keeps, asked.ranges[root]) if own else asked.ranges[root]


def _thin(asked: _Demands, root: Any, sizes: Sizes) -> Condition | None:
    """The condition that leaves just one size, or, by an equation at both ends, few."""
    if sizes.count >= _FEW:
        return None
    ends = [sizes.low - sizes.step, *([] if sizes.high is None else [sizes.high + sizes.step])]
    broken = [
        [c for c in asked.conditions if root in c.symbols and not holds(c.expr, {**asked.samples, root: end})]
        for end in ends
    ]
    equations = [[c for c in some if isinstance(c.expr, sympy.Eq)] for some in broken]
    if sizes.count > 1 and not all(equations):
        return None
    candidates = [c for some in (*equations, *broken) for c in some]
    return min(candidates, key=lambda c: -len(c.symbols), default=None)


def _together(asked: _Demands, alone: Mapping[Any, Sizes]) -> dict[Any, Sizes]:
    """All sizes that are right alone, where they are together too; else let all ranges grow from the sample, by turns,
    as long as every combination keeps the conditions."""
    joint = [c for c in asked.conditions if len(c.symbols & set(alone)) > 1]
    if _all_keep(joint, asked.samples, alone):
        return dict(alone)
    concerned = {root for c in joint for root in c.symbols & set(alone)}
    box = {root: sizes for root, sizes in alone.items() if root not in concerned}
    moving = {root: alone[root] for root in alone if root in concerned}
    start = {root: _hull(asked, root, sizes) for root, sizes in moving.items()}
    if not _all_keep(joint, asked.samples, start):
        start = {root: Sizes(asked.samples[root], asked.samples[root], sizes.step) for root, sizes in moving.items()}
    for part, root, side in itertools.product(range(1, _GROWTH + 1), moving, ("high", "low")):
        wider = _wider(start[root], moving[root], asked.samples[root], side, part / _GROWTH)
        near = [c for c in joint if root in c.symbols]
        if wider != start[root] and _all_keep(near, asked.samples, {**start, root: wider}):
            start[root] = wider
    return {root: (box | start)[root] for root in alone}


def _hull(asked: _Demands, root: Any, sizes: Sizes) -> Sizes:
    """The sample and the other sizes that are wanted."""
    wanted = [pick[root] for pick in asked.others if pick.get(root) in sizes] + [asked.samples[root]]
    return Sizes(min(wanted), max(wanted), sizes.step)


def _wider(now: Sizes, most: Sizes, sample: int, side: str, part: float) -> Sizes:
    """The range with one end nearer to where it ends alone: by the same factor for all."""
    end = most.low if side == "low" else (LARGE if most.high is None else most.high)
    size = round(sample * (max(end, 1) / sample) ** part)
    size = sample + (size - sample) // most.step * most.step if side == "high" else size
    size = sample - (sample - size) // most.step * most.step if side == "low" else size
    if side == "low":
        return replace(now, low=min(now.low, max(size, most.low)))
    reached = most.high is None and part == 1
    return replace(now, high=None if reached else max(now.high or 0, size)) if now.high is not None else now


def _all_keep(conditions: Collection[Condition], samples: Pick, box: Mapping[Any, Sizes]) -> bool:
    return all(holds(c.expr, {**samples, **pick}) for c in conditions for pick in combinations(c.symbols, box))


def combinations(symbols: Collection[Any], box: Mapping[Any, Sizes]) -> Iterator[Pick]:
    """Sizes of the symbols: the ends of their ranges combined in every way, and many others."""
    roots = sorted((root for root in symbols if root in box), key=str)
    draw = random.Random(0)  # noqa: S311 - no secret
    some = [_some(box[root], draw) for root in roots]
    ends = itertools.product(*([sizes[0], sizes[1], sizes[-1]] if len(sizes) > 1 else sizes for sizes in some))
    yield from (dict(zip(roots, sizes, strict=True)) for sizes in itertools.islice(ends, _COMBINED))
    yield from ({root: draw.choice(sizes) for root, sizes in zip(roots, some, strict=True)} for _ in range(_COMBINED))


def _some(sizes: Sizes, draw: random.Random) -> list[int]:
    """The first ones, the last ones, and some between."""
    most = sizes.count - 1
    steps = {0, 1, 2, 3, 4, 5, most - 2, most - 1, most, *(draw.randint(0, most) for _ in range(8))}
    steps |= {int(most ** (part / 8)) for part in range(8)}
    return [sizes.low + step * sizes.step for step in sorted(steps) if 0 <= step <= most]


def _squeezed(
    asked: _Demands, alone: Mapping[Any, Sizes], box: Mapping[Any, Sizes]
) -> dict[Any, Condition | None] | None:
    """Of symbols that alone could move and together cannot, the last one, with a condition that keeps it."""
    stuck = [root for root in box if box[root].count == 1 and alone[root].count > 1]
    if not stuck:
        return None
    root = next(
        (one for one in reversed(stuck) if all(p.get(one) == asked.samples[one] for p in asked.others)), stuck[-1]
    )
    joint = [c for c in asked.conditions if root in c.symbols and len(c.symbols & set(alone)) > 1]
    return {root: max(joint, key=lambda c: isinstance(c.expr, sympy.Eq), default=None)}


def _limits(condition: Condition, asked: _Demands, found: FreeSizes) -> bool:
    """Does it keep the ranges from growing further?"""
    free = condition.symbols & set(found.sizes)
    wide = {root: asked.ranges[root] for root in free}
    return any(found.sizes[r] != asked.ranges[r] for r in free) and not _all_keep([condition], asked.samples, wide)
