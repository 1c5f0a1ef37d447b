"""Run the exported program with other sizes beside eager."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree

from exportlint.trial.child.dynamic_shapes.line_divergence import last_shared_line
from exportlint.trial.child.dynamic_shapes.symbolic_trace import FROM
from exportlint.trial.child.execution.comparison import Difference, compare
from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines
from exportlint.trial.child.execution.graph_places import source_of
from exportlint.trial.child.execution.input_sets import Inputs, with_other_values
from exportlint.trial.child.execution.pytree_leaves import snapshot
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.exceptions import of_exception

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import Pick, SymbolicTrace
    from exportlint.trial.protocol.frames import Frame


_MOST = 4096  # a size beyond this shows little and costs much
_NUMBERS = 1 << 24


@dataclass(frozen=True)
class Tried:
    """Sizes that were tried, and what came of it.

    refused      what eager raised: it does not take these sizes
    raised       what the program alone raised
    difference   where the program gave something else than eager
    frames       where eager takes another branch than for the sample, or where the program raised
    """

    pick: Pick
    refused: str | None = None
    raised: str | None = None
    difference: Difference | None = None
    frames: tuple[Frame, ...] = ()

    @property
    def wrong(self) -> bool:
        return self.raised is not None or self.difference is not None


def picks(trace: SymbolicTrace, ranges: Mapping[Any, tuple[int, int | None]]) -> list[Pick]:
    """Sizes that the ranges allow: larger than the sample's and unlike each other, all at their least, all at most."""
    samples = {root: _sample(trace, root) for root in ranges}
    steps = {c.multiple[0]: c.multiple[1] for c in trace.conditions if c.multiple}
    larger = {root: samples[root] + steps.get(root, 1) * number for number, root in enumerate(ranges, 1)}
    least = {root: _up(max(FROM, low), steps.get(root, 1)) for root, (low, _) in ranges.items()}
    most = {root: high if high and high <= _MOST else larger[root] for root, (_, high) in ranges.items()}
    found = [_within(ranges, pick, samples) for pick in (larger, least, most)]
    lawful = [pick for pick in found if all(c.holds(pick) for c in trace.conditions)]
    return [pick for index, pick in enumerate(lawful) if pick != samples and pick not in lawful[:index]]


def _sample(trace: SymbolicTrace, root: Any) -> int:
    plain = next((size.sample for size in trace.of(root) if size.form == root), None)
    return plain if plain is not None else FROM


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


def _within(ranges: Mapping[Any, tuple[int, int | None]], pick: Pick, samples: Pick) -> Pick:
    return {
        root: size if low <= size and (high is None or size <= high) else samples[root]
        for (root, (low, high)), size in ((item, pick[item[0]]) for item in ranges.items())
    }


def resized(inputs: Inputs, tensors: list[InputTensor], sizes: Mapping[tuple[str, int], int]) -> Inputs:
    """The inputs with other sizes: what is there is repeated, or cut off."""
    changed = {
        id(tensor.value): {
            dim: sizes[tensor.label, dim] for dim in range(tensor.value.dim()) if (tensor.label, dim) in sizes
        }
        for tensor in tensors
    }

    def other(value: Any) -> Any:
        for dim, size in changed.get(id(value), {}).items() if isinstance(value, torch.Tensor) else ():
            value = value.detach().index_select(dim, torch.arange(size) % value.shape[dim])
        return value

    found: Inputs = pytree.tree_map(other, inputs)
    return found


def sizes_at(trace: SymbolicTrace, pick: Pick) -> dict[tuple[str, int], int]:
    """Every dynamic dim of every input for a pick of the symbols."""
    return {
        size.place: int(size.form.xreplace(pick))
        for size in trace.sizes
        if not size.fixed and size.form.free_symbols <= set(pick)
    }


def small_enough(tensors: list[InputTensor], sizes: Mapping[tuple[str, int], int]) -> bool:
    """Would inputs of these sizes fit easily?"""
    total = 0
    for tensor in tensors:
        number = 1
        for dim, size in enumerate(tensor.value.shape):
            number *= sizes.get((tensor.label, dim), size)
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
class SideBySide:
    """Eager and the exported program, to be called with the same inputs in the same order, so that state keeps step.

    `values`: are the values compared? Not where eager does not repeat itself. `ran`: the lines that eager ran.
    """

    eager: Callable[..., Any]
    program: Callable[..., Any]
    inputs: Inputs
    tensors: list[InputTensor]
    values: bool = True
    ran: Lines = field(default_factory=lambda: defaultdict(set))

    def tried(self, trace: SymbolicTrace, pick: Pick) -> Tried | None:
        """Call both with these sizes; None where the inputs would be too large."""
        sizes = sizes_at(trace, pick)
        if not small_enough(self.tensors, sizes):
            return None
        given = resized(self.inputs, self.tensors, sizes)
        other: Inputs = with_other_values(given, 3)
        with recorded_lines(self.ran):
            ours, raised = _called(self.eager, other)
            if raised is not None:  # perhaps it is the values that it does not take
                other = given
                ours, raised = _called(self.eager, other)
        if raised is not None:
            return Tried(pick, refused=of_exception(raised).first_line)
        theirs, refusal = _called(self.program, other)
        if refusal is not None:
            frames = source_of(self.program, refusal) or self._divergence(other)
            return Tried(pick, raised=of_exception(refusal).first_line, frames=frames)
        found = compare(ours, theirs) if self.values else None
        return Tried(pick, difference=found, frames=self._divergence(other) if found else ())

    def _divergence(self, other: Inputs) -> tuple[Frame, ...]:
        """Where eager takes another branch than with the sample."""
        return last_shared_line(lambda: _called(self.eager, self.inputs), lambda: _called(self.eager, other))

    def all(self, trace: SymbolicTrace, wanted: list[Pick]) -> Iterator[Tried]:
        for pick in wanted:
            if (found := self.tried(trace, pick)) is not None:
                yield found
