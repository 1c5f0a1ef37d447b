"""Find how far eager goes with each size: no export sees that a table of positions has six rows, or that memory ends.

Eager runs with larger and larger sizes, each step twice the one before, until it raises or that would take too long;
then the exact end is looked for between. So it is with the least size. All in a fork with limits of its own, since a
large size may take all the memory there is, or end the process.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.dynamic_shapes.other_sizes import raised_by, resized, sizes_at
from exportlint.trial.child.execution.inputs.input_sets import with_other_values
from exportlint.trial.child.execution.memory_limit import memory_limited
from exportlint.trial.child.server.forks import told_in_fork
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.torch_messages import is_out_of_memory

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.child.dynamic_shapes.conditions import Pick, Sizes
    from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded


MEMORY = 2 << 30
_SECONDS = 2  # of one symbol, and of looking for its exact end
_CLOCK_SECONDS = 10
_ALL_SECONDS = 40
_TIMES = 3  # so much more memory shows that it was not memory
_FAR, _LONG = 4096, 0.05  # few tables are larger: with such a size, a call of so many seconds is the last one
_NUMBERS = 1 << 22  # of all inputs together


@dataclass(frozen=True)
class End:
    """The last size that runs in a direction, the sizes beyond it, and what eager raises with those."""

    size: int
    beyond: Pick
    raised: Observation


@dataclass
class Reach:
    """What is known of one symbol, where the others are as in the sample.

    ran        the largest size with which eager ran
    low, high  where eager was seen to raise beyond; None where it was not
    memory     more takes more than so many bytes; None where that was not seen
    """

    ran: int
    low: End | None = None
    high: End | None = None
    memory: int | None = None


@dataclass(frozen=True)
class Eager:
    """The model that runs, and on what. `memory`: so many bytes more than it has may it take."""

    loaded: Loaded
    inputs: Inputs
    tensors: list[InputTensor]
    trace: SymbolicTrace
    memory: int


def eager_reach(eager: Eager, sizes: Mapping[Any, Sizes]) -> dict[Any, Reach]:
    """How far eager goes with each of these symbols within its sizes.

    Where several have a largest size, they have it together: either all of them ran at once, or they are less than what
    each can be alone.
    """
    samples = eager.trace.samples()
    roots = list(sizes)

    def look(tell: Callable[[tuple[int, Reach]], None]) -> None:
        probing = _Probing(eager)
        if probing.raised({}) is not None:
            return
        found = {root: Reach(samples[root]) for root in roots}
        for number, root in enumerate(roots):
            probing.look(root, sizes[root], found[root], partial(tell, (number, found[root])))
        probing.draw_together(found, sizes)
        for number, root in enumerate(roots):
            tell((number, found[root]))

    with tempfile.TemporaryDirectory(prefix="reach-") as folder:
        told = told_in_fork(look, Path(folder), _ALL_SECONDS).parts
    return {root: Reach(samples[root]) for root in roots} | {roots[number]: reach for number, reach in told}


class _OutOfMemoryError(Exception):
    """Nothing is known of that size."""


@dataclass
class _Probing:
    """`afresh`: the model does not run twice, say because its state has the size of its first inputs."""

    eager: Eager
    afresh: bool = False
    _model: Any = field(default=None, init=False)

    def look(self, root: Any, sizes: Sizes, reach: Reach, tell: Callable[[], None]) -> None:
        """Both directions; what is known of the symbol is right after every step, and told."""
        sample, step = self.eager.trace.samples()[root], sizes.step
        upwards = None if sizes.high is None else (sizes.high - sample) // step
        try:
            for good, end in self._steps(root, step, upwards):
                reach.ran, reach.high = sample + good * step, end
                tell()
        except _OutOfMemoryError:
            reach.memory = self.eager.memory
        with contextlib.suppress(_OutOfMemoryError):
            for _, end in self._steps(root, -step, (sample - sizes.low) // step):
                reach.low = end
                tell()

    def _steps(self, root: Any, step: int, most: int | None) -> Iterator[tuple[int, End | None]]:
        """How many steps ran, and where it ended; the end comes nearer."""
        sample = self.eager.trace.samples()[root]
        good, number, is_over = 0, 1, _deadline()
        while most is None or good < most:
            number = number if most is None else min(number, most)
            pick = {root: sample + number * step}
            if is_over() or not self.fits(pick):
                return
            began = time.process_time()
            raised = self.raised(pick)
            if raised is not None:
                break
            good, number = number, 2 * number
            yield good, None
            if pick[root] >= _FAR and time.process_time() - began > _LONG:
                return
        else:
            return
        bad, is_over = number, _deadline()
        yield good, End(sample + good * step, pick, raised)
        while bad - good > 1 and not is_over():
            middle = (good + bad) // 2
            nearer = {root: sample + middle * step}
            if (now := self.raised(nearer)) is None:
                good = middle
            else:
                bad, pick, raised = middle, nearer, now
            yield good, End(sample + good * step, pick, raised)

    def draw_together(self, found: Mapping[Any, Reach], sizes: Mapping[Any, Sizes]) -> None:
        """The largest sizes that run all at once, on the way from the sample to what each can be alone."""
        samples = self.eager.trace.samples()
        ends = {root: reach.high for root, reach in found.items() if reach.high is not None}
        most = max(((end.size - samples[root]) // sizes[root].step for root, end in ends.items()), default=0)
        if len(ends) == 1 or not most:
            return

        def part(of: int) -> Pick:
            steps = {root: (end.size - samples[root]) // sizes[root].step * of // most for root, end in ends.items()}
            return {root: samples[root] + number * sizes[root].step for root, number in steps.items()}

        with contextlib.suppress(_OutOfMemoryError):
            raised = self.raised(part(most)) if self.fits(part(most)) else None
            if raised is None:
                return
            good, bad = 0, most
            while bad - good > 1:
                middle = (good + bad) // 2
                if (now := self.raised(part(middle))) is None:
                    good = middle
                else:
                    bad, raised = middle, now
            for root, size in part(good).items():
                if size < ends[root].size:
                    found[root].high = End(size, part(bad), raised)

    def fits(self, pick: Pick) -> bool:
        """Are the inputs small enough to be made?"""
        sizes, total = self._sizes(pick), 0
        for tensor in self.eager.tensors:
            number = 1
            for dim, size in enumerate(tensor.value.shape):
                number *= sizes.get((tensor.label, dim), size)
            total += number
        return total <= _NUMBERS

    def raised(self, pick: Pick) -> Observation | None:
        """What eager raises with these sizes: with the sample's values and with others, by the model that ran before
        and by a fresh one, with little memory and with more; None where any of these runs."""
        plain = resized(self.eager.inputs, self.eager.tensors, self._sizes(pick))
        if self._model is None:  # what it loads and starts in its first call is no matter of sizes
            self._called(self.eager.inputs, afresh=True)
        with memory_limited(self.eager.memory):
            if self._called(plain, afresh=self.afresh) is None:
                return None
            if not self.afresh and self._called(plain, afresh=True) is None:
                self.afresh = True
                return None
        with memory_limited(_TIMES * self.eager.memory):  # out of memory, torch's backends may say anything
            if self._called(plain, afresh=True) is None:
                raise _OutOfMemoryError
        raised = None
        for other in (with_other_values(plain, 3), _with_integers(plain, 0), _with_integers(plain, 1)):
            if (raised := self._called(other, afresh=True)) is None:
                return None  # it was the values that it did not take: indices of rows that are gone, say
        return of_exception(raised) if raised is not None else None

    def _called(self, inputs: Inputs, *, afresh: bool) -> BaseException | None:
        if afresh or self._model is None:
            self._model = self.eager.loaded.eager()
        raised = raised_by(self._model, inputs)
        if isinstance(raised, MemoryError) or is_out_of_memory(str(raised)):
            raise _OutOfMemoryError
        return raised

    def _sizes(self, pick: Pick) -> dict[tuple[str, int], int]:
        trace = self.eager.trace
        return sizes_at(trace, {**trace.samples(), **pick})


def _with_integers(inputs: Inputs, value: int) -> Inputs:
    """Every integer of the inputs set to one value."""

    def other(leaf: Any) -> Any:
        whole = isinstance(leaf, torch.Tensor) and not (leaf.dtype.is_floating_point or leaf.dtype.is_complex)
        return torch.full_like(leaf, value) if whole and leaf.dtype != torch.bool else leaf

    found: Inputs = pytree.tree_map(other, inputs)
    return found


def _deadline() -> Callable[[], bool]:
    """Is the time over? Of this process's own work, so that a busy machine changes little; and of the clock."""
    work, clock = time.process_time() + _SECONDS, time.monotonic() + _CLOCK_SECONDS
    return lambda: time.process_time() > work or time.monotonic() > clock
