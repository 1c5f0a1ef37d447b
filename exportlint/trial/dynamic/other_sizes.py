"""The exported program with other sizes beside eager. Runs in the child."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from exportlint.trial.dynamic.parting import parting
from exportlint.trial.dynamic.reading import FROM
from exportlint.trial.graphs import source_of
from exportlint.trial.loading import copied
from exportlint.trial.observation import Frame, of_exception
from exportlint.trial.values import compare, redraw, seed, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.dynamic.inputs import Inputs, Leaf
    from exportlint.trial.dynamic.reading import Pick, Trace

_MOST = 4096  # a size beyond this says little and costs much
_NUMBERS = 1 << 24


@dataclass(frozen=True)
class Tried:
    """`eager`: what eager raised. `wrong`: how the program differed; None where both agree."""

    pick: Pick
    eager: str | None = None
    wrong: str | None = None
    frames: tuple[Frame, ...] = ()


def picks(trace: Trace, ranges: Mapping[Any, tuple[int, int | None]]) -> list[Pick]:
    """Sizes that the ranges allow: larger than the sample's and unlike each other, all at their least, all at most."""
    samples = {root: _sample(trace, root) for root in ranges}
    steps = {c.multiple[0]: c.multiple[1] for c in trace.conditions if c.multiple}
    larger = {root: samples[root] + steps.get(root, 1) * number for number, root in enumerate(ranges, 1)}
    least = {root: _up(max(FROM, low), steps.get(root, 1)) for root, (low, _) in ranges.items()}
    most = {root: high if high and high <= _MOST else larger[root] for root, (_, high) in ranges.items()}
    found = [_within(ranges, pick, samples) for pick in (larger, least, most)]
    lawful = [pick for pick in found if all(c.holds(pick) for c in trace.conditions)]
    return [pick for index, pick in enumerate(lawful) if pick != samples and pick not in lawful[:index]]


def _sample(trace: Trace, root: Any) -> int:
    plain = next((size.sample for size in trace.of(root) if size.form == root), None)
    return plain if plain is not None else FROM


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _within(ranges: Mapping[Any, tuple[int, int | None]], pick: Pick, samples: Pick) -> Pick:
    return {
        root: size if low <= size and (high is None or size <= high) else samples[root]
        for (root, (low, high)), size in ((item, pick[item[0]]) for item in ranges.items())
    }


def resized(inputs: Inputs, leaves: list[Leaf], sizes: Mapping[tuple[str, int], int]) -> Inputs:
    """The inputs with other sizes: what is there is repeated, or cut off."""
    changed = {
        id(leaf.tensor): {dim: sizes[leaf.label, dim] for dim in range(leaf.tensor.dim()) if (leaf.label, dim) in sizes}
        for leaf in leaves
    }

    def other(value: Any) -> Any:
        for dim, size in changed.get(id(value), {}).items() if isinstance(value, torch.Tensor) else ():
            value = value.detach().index_select(dim, torch.arange(size) % value.shape[dim])
        return value

    found: Inputs = pytree.tree_map(other, inputs)
    return found


def sizes_at(trace: Trace, pick: Pick) -> dict[tuple[str, int], int]:
    """Every dynamic dim of every input for a pick of the symbols."""
    return {
        (size.leaf.label, size.dim): int(size.form.xreplace(pick))
        for size in trace.sizes
        if not size.fixed and size.form.free_symbols <= set(pick)
    }


def small_enough(leaves: list[Leaf], sizes: Mapping[tuple[str, int], int]) -> bool:
    """Would inputs of these sizes fit easily?"""
    total = 0
    for leaf in leaves:
        number = 1
        for dim, size in enumerate(leaf.tensor.shape):
            number *= sizes.get((leaf.label, dim), size)
        total += number
    return total <= _NUMBERS


def accepts(model: Callable[..., Any], inputs: Inputs) -> bool:
    """Does the model run on them?"""
    return _called(model, inputs)[1] is None


def _called(model: Callable[..., Any], inputs: Inputs) -> tuple[Any, BaseException | None]:
    args, kwargs = copied(inputs)
    seed(11)
    try:
        with torch.no_grad():
            return snapshot(model(*args, **kwargs)), None
    except BaseException as exc:  # noqa: BLE001 - SystemExit is an answer too
        return [], exc


@dataclass
class Beside:
    """Eager and the program, called in the same order, so that state keeps step. `values`: eager repeats itself."""

    eager: Callable[..., Any]
    program: Callable[..., Any]
    inputs: Inputs
    leaves: list[Leaf]
    values: bool = True

    def tried(self, trace: Trace, pick: Pick) -> Tried | None:
        """None where the inputs would be too large."""
        sizes = sizes_at(trace, pick)
        if not small_enough(self.leaves, sizes):
            return None
        given = resized(self.inputs, self.leaves, sizes)
        drawn: Inputs = redraw(given, 3)
        ours, raised = _called(self.eager, drawn)
        if raised is not None:  # perhaps it is the values that it does not take
            drawn = given
            ours, raised = _called(self.eager, drawn)
        if raised is not None:
            return Tried(pick, eager=of_exception(raised).first_line)
        theirs, refused = _called(self.program, drawn)
        if refused is not None:
            said = of_exception(refused).first_line
            return Tried(pick, wrong=said, frames=source_of(self.program, refused) or self._parting(drawn))
        found = compare(ours, theirs) if self.values else None
        if found is None:
            return Tried(pick)
        return Tried(pick, wrong=f"{found.path}: {found.text}".lstrip(": "), frames=self._parting(drawn))

    def _parting(self, drawn: Inputs) -> tuple[Frame, ...]:
        """Where eager goes another way than with the sample."""
        return parting(lambda: _called(self.eager, self.inputs), lambda: _called(self.eager, drawn))

    def all(self, trace: Trace, wanted: list[Pick]) -> Iterator[Tried]:
        for pick in wanted:
            if (found := self.tried(trace, pick)) is not None:
                yield found
