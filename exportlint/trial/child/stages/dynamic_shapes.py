"""dynamic-shapes: find declared dims that are not dynamic, run other sizes beside eager, propose what to declare."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.dynamic_shapes.declarations import (
    BrokenDeclaration,
    DimPlace,
    asked_ranges,
    constants,
    narrowed,
    within,
)
from exportlint.trial.child.dynamic_shapes.equal_dims import static_equals
from exportlint.trial.child.dynamic_shapes.facts import facts_of
from exportlint.trial.child.dynamic_shapes.input_tensors import input_tensors
from exportlint.trial.child.dynamic_shapes.other_sizes import SideBySide, Tried, picks
from exportlint.trial.child.dynamic_shapes.proposal import Proposed, proposed, traced
from exportlint.trial.child.dynamic_shapes.size_names import names
from exportlint.trial.child.dynamic_shapes.symbolic_trace import FROM, Pick, SymbolicTrace, read_trace
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.eager_records import kept_records
from exportlint.trial.child.execution.input_sets import Inputs, inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.protocol.frames import is_installed
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.trial.child.execution.executed_lines import Lines
    from exportlint.trial.protocol.size_facts import ShapesFound


def run(request: StageRequest) -> StageAnswer:
    """Options: "mode"; "auto" (propose what could be declared); "refused" (torch refused what is declared)."""
    if request.loaded.export:
        return StageAnswer(SKIPPED, "the target brings its own export call")
    sizes = _Sizes(request)
    if sizes.shapes is not None and request.exported is not None:
        sizes.judge_declared()
    differing = sizes.differing() if sizes.shapes is None else []
    if differing:
        sizes.judge_undeclared(differing)
    elif request.options.get("auto"):
        sizes.propose(sizes.every())
    elif request.options.get("refused"):
        sizes.propose_instead()
    return sizes.answer()


@dataclass
class _Sizes:
    """The sizes of one target's inputs, and what was found out about them."""

    request: StageRequest
    shapes: Any = None
    inputs: Inputs = ((), {})
    tensors: list[Any] = field(default_factory=list)
    found: list[Observation] = field(default_factory=list)
    agreed: list[str] = field(default_factory=list)
    shapes_found: ShapesFound | None = None
    refusal: str | None = None
    ran: Lines = field(default_factory=lambda: defaultdict(set))

    def __post_init__(self) -> None:
        loaded = self.request.loaded
        self.inputs, self.shapes = inputs_of(loaded, 0), loaded.dynamic_shapes()
        self.tensors = input_tensors(loaded.model(), self.inputs, self.shapes)

    def answer(self) -> StageAnswer:
        for seen in self.found:
            self.request.emit(seen)
        data: dict[str, Any] = {"dynamic_shapes": self.shapes_found} if self.shapes_found else {}
        data["called_with_other_sizes"] = {
            path: sorted(lines) for path, lines in self.ran.items() if not is_installed(path)
        }
        if self.refusal:
            return StageAnswer(REFUSED, short(self.refusal), data)
        if any(seen.kind == "difference" for seen in self.found):
            return StageAnswer(DIFFERS, None, data)
        if not self.shapes_found:
            return StageAnswer(SKIPPED, "nothing is declared dynamic, and the other inputs have the sample's sizes")
        return StageAnswer(PASSED, short(f"agrees for {'; '.join(self.agreed)}") if self.agreed else "", data)

    def judge_declared(self) -> None:
        """The declared dims of the program that was exported with them."""
        exported = self.request.exported
        trace = read_trace(exported.sizes, self.tensors) if exported and exported.sizes else None
        if exported is None or trace is None:
            return
        mode, static = self.request.mode, static_equals(self.request.loaded, trace)
        self.found += [broken.observed("frozen-dim", mode=mode) for broken in constants(trace, static)]
        both = self._side_by_side(exported.program.module())
        for root, broken in narrowed(trace):
            if self._eager_goes_on(both, trace, root):
                self.found.append(broken.observed("narrowed-dim", mode=mode))
        ranges = {root: asked for root, asked in asked_ranges(trace).items() if root in trace.ranges}
        inside = {root: within(asked, trace.ranges[root]) for root, asked in ranges.items()}
        ones = [{root: 1} for root, (low, high) in ranges.items() if low <= 1 <= (high or 1)]
        agreed = self._try(both, trace, [*picks(trace, inside), *ones])
        smaller = {root: 1 for one in ones for root in one if one in agreed}
        written = re.sub(r"DimHint\((\w+)\)", r"Dim.\1", repr(self.shapes))
        facts = list(facts_of(trace, names(trace), smaller))
        self.shapes_found = {"facts": facts, "code": f"dynamic_shapes = {written}"}

    def _side_by_side(self, program: Any) -> SideBySide:
        eager, again = kept_records(self.request.folder.parent)
        pairs = zip(eager.calls, again.calls, strict=False)
        steady = not any(compare(a.output, b.output, exact=True) for a, b in pairs)
        return SideBySide(self.request.loaded.eager(), program, self.inputs, self.tensors, steady)

    def _eager_goes_on(self, both: SideBySide, trace: SymbolicTrace, root: Any) -> bool:
        """Does eager take a size just outside of the range that the trace allows?"""
        low, high = trace.ranges[root]
        for size in (high + 1 if high else None, low - 1 if low > FROM else None):
            tried = both.tried(trace, {root: size}) if size else None
            if tried is not None and tried.refused is None:
                return True
        return False

    def _try(self, both: SideBySide, trace: SymbolicTrace, wanted: list[Pick]) -> list[Pick]:
        """The picks for which both agree; what differs is an observation."""
        called = names(trace)
        agreed = []
        for tried in both.all(trace, wanted):
            sizes = [(called[root], _size(trace, root, tried.pick)) for root in tried.pick]
            if tried.wrong:
                self.found.append(_difference(sizes, tried, self.request.mode))
            elif tried.refused:
                details = {"note": "size", "tried": sizes}
                self.found.append(Observation("note", tried.refused, details=details))
            else:
                self.agreed.append(", ".join(f"{name}={size}" for name, size in sizes))
                agreed.append(tried.pick)
        for path, lines in both.ran.items():
            self.ran[path] |= lines
        return agreed

    def every(self) -> dict[DimPlace, Any]:
        """All dims of all inputs, with what is declared for them."""
        return {
            (tensor.label, dim): tensor.asked().get(dim) for tensor in self.tensors for dim in range(tensor.value.dim())
        }

    def differing(self) -> list[DimPlace]:
        """Dims that the target's other inputs have in another size."""
        loaded = self.request.loaded
        if loaded.other_args is None:
            return []
        others = {tensor.label: tensor.value for tensor in input_tensors(loaded.model(), inputs_of(loaded, 1))}
        return [
            (tensor.label, dim)
            for tensor in self.tensors
            if tensor.label in others and others[tensor.label].dim() == tensor.value.dim()
            for dim, size in enumerate(tensor.value.shape)
            if others[tensor.label].shape[dim] != size
        ]

    def propose_instead(self) -> None:
        """Of what torch refused, what could be declared: with the static dims that a declared one must equal."""
        loaded, mode = self.request.loaded, self.request.mode
        declared = {(tensor.label, dim): what for tensor in self.tensors for dim, what in tensor.asked().items()}
        trace = traced(loaded, self.inputs, mode, declared)
        static = static_equals(loaded, trace) if trace else {}
        self.propose(declared | {place: declared[one] for one, places in static.items() for place in places})

    def judge_undeclared(self, places: list[DimPlace]) -> None:
        """The other inputs need dims that nothing declares."""
        self.propose(dict.fromkeys(places))
        fact = {"fact": "other-inputs", "dims": [list(place) for place in places], "proposal": self.shapes_found}
        self.found.insert(0, BrokenDeclaration(fact).observed("static-dim", mode=self.request.mode))

    def propose(self, free: Mapping[DimPlace, Any]) -> None:
        """Propose, export with it, and try other sizes of the program that comes out."""
        outcome = proposed(self.request.loaded, self.inputs, self.request.mode, free)
        if outcome.code or (outcome.trace is None and outcome.refusal is None):
            self.shapes_found = outcome.found
        if outcome.refusal:
            self.refusal = f"with free dims: {outcome.refusal.first_line}"
            self.found.append(outcome.refusal)
        elif outcome.trace is not None:
            self._try_proposal(outcome, outcome.trace)

    def _try_proposal(self, outcome: Proposed, trace: SymbolicTrace) -> None:
        torch._dynamo.reset()  # noqa: SLF001 - documented as torch._dynamo.reset
        both = outcome.side_by_side(self.request.loaded.eager(), values=True)
        self._try(both, trace, picks(trace, trace.ranges))


def _size(trace: SymbolicTrace, root: Any, pick: Pick) -> int:
    """As the inputs have it: a symbol may stand for the eighth part of a dim."""
    return int(trace.of(root)[0].form.xreplace(pick))


def _difference(sizes: list[tuple[str, int]], tried: Tried, mode: str) -> Observation:
    details: dict[str, Any] = {"check": "sizes", "mode": mode, "tried": sizes}
    if tried.difference:
        details |= tried.difference.fields()
    return Observation("difference", tried.raised or "", details=details).at(tried.frames)
