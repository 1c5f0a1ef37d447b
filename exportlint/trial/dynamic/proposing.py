"""From a model and its inputs to a `dynamic_shapes` that was exported with: every dim free, read, written, tried."""

from __future__ import annotations

import contextlib
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.export import Dim
from torch.utils import _pytree as pytree

from exportlint.trial.dynamic.declared import Place, range_of, within
from exportlint.trial.dynamic.inputs import Inputs, Leaf, leaves_of, tree_of
from exportlint.trial.dynamic.other_sizes import Beside, accepts, resized
from exportlint.trial.dynamic.proposal import Proposal, loosened, propose
from exportlint.trial.dynamic.reading import Trace, read
from exportlint.trial.dynamic.recording import recorded
from exportlint.trial.dynamic.saying import declared_as, listed, names, sentences
from exportlint.trial.observation import Observation, of_exception
from exportlint.trial.stage import short
from exportlint.trial.values import seed

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
    from types import FrameType

    from exportlint.trial.loading import Loaded

_SECONDS = 30
_FLAT, _SIDE = 3, 16  # a picture has more dims, and no side is shorter


@dataclass(frozen=True)
class Proposed:
    """`refusal`: torch refused even the proposal, or the export with free dims (then there is no proposal).

    `facts`: why no dim can move, where that is so.
    """

    proposal: Proposal | None = None
    program: Any = None
    trace: Trace | None = None
    inputs: Inputs = ((), {})
    refusal: Observation | None = None
    facts: tuple[str, ...] = ()

    def beside(self, eager: Callable[..., Any], *, values: bool) -> Beside:
        leaves = [size.leaf for size in self.trace.sizes] if self.trace else []
        once = list({leaf.label: leaf for leaf in leaves}.values())
        return Beside(eager, self.program.module(), self.inputs, once, values)


def proposed(loaded: Loaded, inputs: Inputs, mode: str, free: Mapping[Place, Any]) -> Proposed:
    """`free`: the dims that may move, each with what is declared for it or None."""
    why, outcome = "", Proposed()
    for wanted in _wishes(free, leaves_of(loaded.model(), inputs)):
        try:
            with _in_time():
                return _proposed(loaded, inputs, mode, wanted, why)
        except _OutOfTimeError:
            said = f"torch came to no end in {_SECONDS} s"
        except BaseException as exc:  # noqa: BLE001 - torch lets anything through
            outcome = Proposed(refusal=of_exception(exc))
            said = f"torch says {short(str(exc) or type(exc).__name__)}"
        why = why or f"not every dim was tried; with all of them free, {said}"
    return outcome


def _wishes(free: Mapping[Place, Any], leaves: Sequence[Leaf]) -> Iterator[Mapping[Place, Any]]:
    """All; all but the sides of pictures, whose products keep torch's solver busy (seen with windowed attention); first
    dims."""
    deep = (leaf for leaf in leaves if leaf.tensor.dim() > _FLAT)
    pictures = {leaf.label for leaf in deep if min(leaf.tensor.shape[-2:]) >= _SIDE}
    without = {(label, dim): what for (label, dim), what in free.items() if dim == 0 or label not in pictures}
    first = {(label, dim): what for (label, dim), what in free.items() if dim == 0}
    yield free
    yield from [without] if without not in (free, first) else []
    yield from [first] if first != free else []


def traced(loaded: Loaded, inputs: Inputs, mode: str, free: Collection[Place]) -> Trace | None:
    """What an export with just these dims free finds; None where it is refused or comes to no end."""
    model = loaded.model()
    shapes = tree_of(model, inputs, _give(free))
    with recorded() as recording:
        try:
            with _in_time():
                _export(loaded, inputs, shapes, mode)
        except BaseException:  # noqa: BLE001 - torch lets anything through
            return None
    return read(recording, leaves_of(model, inputs, shapes))


class _OutOfTimeError(BaseException):
    """Not an Exception, which torch and models catch on the way."""


@contextlib.contextmanager
def _in_time() -> Iterator[None]:
    """Many free sizes in one expression can keep torch's solver busy for hours. Seconds of this process's own work."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise _OutOfTimeError

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _proposed(loaded: Loaded, inputs: Inputs, mode: str, free: Mapping[Place, Any], why: str) -> Proposed:
    model = loaded.model()
    given, remarks = _without_ones(loaded, inputs, free)
    remarks += [why] if why else []
    shapes = tree_of(model, given, _give(free))
    with recorded() as recording:
        program = _export(loaded, given, shapes, mode)
    trace = read(recording, leaves_of(model, given, shapes))
    if trace is None or not trace.roots():
        return Proposed(facts=tuple(sentences(trace, {})) if trace else ())
    declared = {place: what for place, what in free.items() if what is not None}
    _narrow(trace, declared)
    if joined := trace.join_batches(declared):
        remarks.append(f"{listed(joined)} is taken as the same batch, though nothing in the code demands it")
    called = names(trace, {place: declared_as(what) for place, what in declared.items() if hasattr(what, "__name__")})
    proposal = propose(trace, model, given, called, _ones(loaded, program, trace, given), remarks)
    return _tried(loaded, proposal, given, mode)


def _narrow(trace: Trace, declared: Mapping[Place, Any]) -> None:
    """What was declared of a dim stays within the range that was declared."""
    for size in trace.sizes:
        what = declared.get((size.leaf.label, size.dim))
        if what is not None and size.form in trace.ranges:
            trace.ranges[size.form] = within(range_of(what), trace.ranges[size.form])


def _give(free: Collection[Place]) -> Callable[[str, torch.Tensor], Any]:
    def give(label: str, tensor: torch.Tensor) -> Any:
        dims = {dim: Dim.AUTO for dim in range(tensor.dim()) if (label, dim) in free}
        return dims or None

    return give


def _export(loaded: Loaded, inputs: Inputs, shapes: Any, mode: str) -> Any:
    torch._dynamo.reset()  # noqa: SLF001 - documented as torch._dynamo.reset
    model = loaded.model()
    args, kwargs = pytree.tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, inputs)
    seed(0)
    return torch.export.export(model, args, kwargs or None, dynamic_shapes=shapes, strict=mode == "strict")


def _tried(loaded: Loaded, proposal: Proposal, inputs: Inputs, mode: str) -> Proposed:
    """Export with the proposal; a dim that no named Dim can say is declared Dim.DYNAMIC in a second attempt."""
    refusal = None
    for _ in range(2):
        with recorded() as recording:
            try:
                program = _export(loaded, inputs, proposal.shapes, mode)
            except BaseException as exc:  # noqa: BLE001 - torch lets anything through
                refusal = of_exception(exc)
                other = loosened(proposal, refusal.text)
                if other is None:
                    break
                proposal = other
                continue
        trace = read(recording, leaves_of(loaded.model(), inputs, proposal.shapes))
        return Proposed(proposal, program, trace, inputs)
    return Proposed(proposal, refusal=refusal)


def _ones(loaded: Loaded, program: Any, trace: Trace, inputs: Inputs) -> dict[Any, int]:
    """The symbols for which 1, which torch does not trace, was tried and is right."""
    leaves = list({size.leaf.label: size.leaf for size in trace.sizes}.values())
    found = {}
    for root in trace.roots():
        if trace.ranges[root][0] <= 2 and all(root not in c.symbols for c in trace.conditions):  # noqa: PLR2004 - torch's own
            beside = Beside(loaded.eager(), program.module(), inputs, leaves)
            tried = beside.tried(trace, {root: 1})
            if tried is not None and tried.eager is None and tried.wrong is None:
                found[root] = 1
    return found


def _without_ones(loaded: Loaded, inputs: Inputs, free: Mapping[Place, Any]) -> tuple[Inputs, list[str]]:
    """Torch makes a constant of a size of 1. Where eager takes 3 instead, that is exported: first dims together, then
    each dim alone."""
    model = loaded.model()
    ones = [
        (leaf.label, dim)
        for leaf in leaves_of(model, inputs)
        for dim, size in enumerate(leaf.tensor.shape)
        if size == 1 and (leaf.label, dim) in free
    ]
    if not ones:
        return inputs, []
    eager = loaded.eager()
    grown: list[Place] = []
    groups = [[place for place in ones if place[1] == dim] for dim in sorted({dim for _, dim in ones})]
    for group in groups:
        for places in [group, *([place] for place in group if len(group) > 1)]:
            if not set(places) & set(grown):
                larger = _grown(model, inputs, places)
                if accepts(eager, larger):
                    inputs = larger
                    grown += places
    said = " and ".join(f"dim {dim} of `{label}`" for label, dim in grown)
    remark = f"in the sample {said} is 1, which torch makes a constant: export with a sample of 2 or more there"
    return inputs, [remark] if grown else []


def _grown(model: Any, inputs: Inputs, places: list[Place]) -> Inputs:
    leaves: list[Leaf] = leaves_of(model, inputs)
    return resized(inputs, leaves, dict.fromkeys(places, 3))
