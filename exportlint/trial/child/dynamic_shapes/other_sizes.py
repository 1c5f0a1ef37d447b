"""Run the exported program with other sizes beside eager."""

from __future__ import annotations

import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import partial
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.dynamic_shapes.conditions import FROM, Sizes
from exportlint.trial.child.execution.comparison import Difference, compare
from exportlint.trial.child.execution.executed_lines import Lines, recorded_lines
from exportlint.trial.child.execution.graph_places import source_of
from exportlint.trial.child.execution.inputs.input_sets import Inputs, with_other_values
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.execution.time_limit import OutOfTimeError
from exportlint.trial.child.loading.loaded import Loaded, copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.frames import Frame, frame_at, is_user_path
from exportlint.trial.protocol.observation import of_exception

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import FrameType

    from exportlint.trial.child.dynamic_shapes.conditions import Condition, Pick
    from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace


_MOST_SIZE = 4096  # a size beyond this shows little and costs much
_NUMBERS = 1 << 24
_TIMES = 3


@dataclass(frozen=True)
class Tried:
    """Sizes that were tried, and what came of it.

    refused      what eager raised: it does not take these sizes
    raised       what the program alone raised
    difference   where the program gave something else than eager
    frames       where eager takes another branch than for the sample, or where the program raised
    by_state     both give the same where these sizes come first, so it is what earlier calls have left in eager
    """

    pick: Pick
    refused: str | None = None
    raised: str | None = None
    difference: Difference | None = None
    frames: tuple[Frame, ...] = ()
    by_state: bool = False

    @property
    def right(self) -> bool:
        return self.refused is None and not self.wrong

    @property
    def wrong(self) -> bool:
        return self.raised is not None or self.difference is not None


def picks(samples: Pick, sizes: Mapping[Any, Sizes], conditions: Sequence[Condition] = ()) -> list[Pick]:
    """Sizes to try: larger than the sample's and unlike each other, about twice as large, all at their least, all at
    most. Only what the conditions allow."""
    larger = {root: samples[root] + sizes[root].step * number for number, root in enumerate(sizes, 1)}
    double = {root: samples[root] + _up(samples[root], sizes[root].step) + sizes[root].step for root in sizes}
    least = {root: max(FROM, some.low) for root, some in sizes.items()}
    most = {root: some.high if some.high and some.high <= _MOST_SIZE else larger[root] for root, some in sizes.items()}
    found = [
        {root: size if size in sizes[root] else samples[root] for root, size in pick.items()}
        for pick in (larger, double, least, most)
    ]
    inside = {root: samples[root] for root in sizes}
    lawful = [pick for pick in found if all(c.holds({**samples, **pick}) for c in conditions)]
    return [pick for index, pick in enumerate(lawful) if pick != inside and pick not in lawful[:index]]


def sizes_within(trace: SymbolicTrace, ranges: Mapping[Any, tuple[int, int | None]]) -> dict[Any, Sizes]:
    """The sizes that ranges allow and that are multiples where those are demanded."""
    steps = dict(c.multiple for c in trace.conditions if c.multiple)
    return {root: Sizes(_up(low, steps.get(root, 1)), high, steps.get(root, 1)) for root, (low, high) in ranges.items()}


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


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
    """Would inputs of these sizes fit easily, or are they not much larger than the sample?"""
    total = 0
    for tensor in tensors:
        number = 1
        for dim, size in enumerate(tensor.value.shape):
            number *= sizes.get((tensor.label, dim), size)
        total += number
    return bool(total <= max(_NUMBERS, _TIMES * sum(tensor.value.numel() for tensor in tensors)))


def accepts(model: Callable[..., Any], inputs: Inputs) -> bool:
    """Does the model run on them?"""
    return raised_by(model, inputs) is None


def raised_by(model: Callable[..., Any], inputs: Inputs) -> BaseException | None:
    """What the model raises with them; None where it runs."""
    return _called(model, inputs)[1]


def _called(model: Callable[..., Any], inputs: Inputs) -> tuple[Any, BaseException | None]:
    args, kwargs = copied(inputs)
    seed(11)
    try:
        with torch.no_grad():
            return snapshot(model(*args, **kwargs)), None
    except OutOfTimeError:
        raise
    except BaseException as exc:  # noqa: BLE001 - SystemExit is an answer too
        return [], exc


@dataclass
class SideBySide:
    """Eager and the exported program, called with the same inputs in the same order, so that state keeps step.

    What one of them does alone would put the other out of step, so it is done by a copy, or both start afresh.

    exported   the ExportedProgram, whose own state stays as it is
    values     are the values compared? Not where eager does not repeat itself.
    ran        the lines that eager ran
    """

    loaded: Loaded
    exported: Any
    inputs: Inputs
    tensors: list[InputTensor]
    values: bool = True
    ran: Lines = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self._eager, self._program = self.loaded.eager(), _with_own_state(self.exported.module())

    def tried(self, trace: SymbolicTrace, pick: Pick) -> Tried | None:
        """Call both with these sizes, all others as in the sample; None where the inputs would be too large."""
        sizes = sizes_at(trace, {**trace.samples(), **pick})
        if not small_enough(self.tensors, sizes):
            return None
        return self.given(resized(self.inputs, self.tensors, sizes), pick)

    def given(self, inputs: Inputs, pick: Pick) -> Tried:
        """Call both with other values of these inputs, or where eager does not take those, with these."""
        other: Inputs = with_other_values(inputs, 3)
        ours, raised = self._called_eager(other)
        if raised is not None:  # perhaps it is the values that it does not take
            other = inputs
            ours, raised = self._called_eager(other)
        if raised is not None:
            return Tried(pick, refused=of_exception(raised).first_line)
        theirs, refusal = _called(self._program, other)
        if refusal is not None:
            frames = source_of(self._program, refusal) or self._divergence(other)
            self._start()
            return Tried(pick, raised=of_exception(refusal).first_line, frames=frames)
        found = compare(ours, theirs) if self.values else None
        if found and not self._differ_alone(other):
            return Tried(pick, difference=found, by_state=True)
        return Tried(pick, difference=found, frames=self._divergence(other) if found else ())

    def _differ_alone(self, inputs: Inputs) -> bool:
        """Does a fresh program give something else than fresh eager?"""
        (ours, raised), (theirs, refusal) = (
            self._alone(inputs)(),
            _called(_with_own_state(self.exported.module()), inputs),
        )
        return raised is not None or refusal is not None or compare(ours, theirs) is not None

    def _called_eager(self, inputs: Inputs) -> tuple[Any, BaseException | None]:
        with recorded_lines(self.ran):
            ours, raised = _called(self._eager, inputs)
        if raised is not None:
            self._start()
        return ours, raised

    def _divergence(self, other: Inputs) -> tuple[Frame, ...]:
        """Where eager takes another branch than with the sample."""
        return last_shared_line(self._alone(self.inputs), self._alone(other))

    def _alone(self, inputs: Inputs) -> Callable[[], Any]:
        return partial(_called, self.loaded.eager(), inputs)

    def repeated(self, trace: SymbolicTrace, pick: Pick) -> dict[str, list[int]]:
        """The lines that eager runs another number of times with these sizes than with the sample's."""
        other = resized(self.inputs, self.tensors, sizes_at(trace, {**trace.samples(), **pick}))
        return lines_run_otherwise(self._alone(self.inputs), self._alone(other))

    def all(self, trace: SymbolicTrace, wanted: list[Pick]) -> Iterator[Tried]:
        for pick in wanted:
            if (found := self.tried(trace, pick)) is not None:
                yield found


def _with_own_state(module: torch.nn.Module) -> torch.nn.Module:
    """All modules that an ExportedProgram gives share their buffers with it, and the tensors that it holds as
    constants, to which some programs write."""
    own: dict[int, torch.Tensor] = {}
    for part in module.modules():
        constants = [(name, held) for name, held in vars(part).items() if isinstance(held, torch.Tensor)]
        for name, held in (*part.named_buffers(recurse=False, remove_duplicate=False), *constants):
            setattr(part, name, own.setdefault(id(held), held.clone()))
    return module


# Find the lines at which eager does something else for other inputs.


_MOST_STEPS = 200_000
_Step = tuple[str, int, str]


def last_shared_line(one: Callable[[], Any], other: Callable[[], Any]) -> tuple[Frame, ...]:
    """The last line of user code that both runs share before they diverge; empty where they never do."""
    last: _Step | None = None
    for ours, theirs in zip_longest(_steps(one), _steps(other)):
        if ours != theirs:
            return (frame_at(*last),) if last else ()
        last = ours
    return ()


def lines_run_otherwise(one: Callable[[], Any], other: Callable[[], Any]) -> dict[str, list[int]]:
    """The lines of user code that the two run another number of times: the body of a loop over a size, say."""
    ours, theirs = (Counter((path, line) for path, line, _ in _steps(call)) for call in (one, other))
    found: dict[str, list[int]] = {}
    for path, line in sorted(ours | theirs):
        if ours[path, line] != theirs[path, line]:
            found.setdefault(path, []).append(line)
    return found


def _steps(call: Callable[[], Any]) -> list[_Step]:
    steps: list[_Step] = []

    def on_call(frame: FrameType, _event: str, _arg: Any) -> Any:
        return on_line if is_user_path(frame.f_code.co_filename) and len(steps) < _MOST_STEPS else None

    def on_line(frame: FrameType, event: str, _arg: Any) -> Any:
        if event == "line" and len(steps) < _MOST_STEPS:
            steps.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        return on_line

    sys.settrace(on_call)
    try:
        call()
    finally:
        sys.settrace(None)
    return steps
