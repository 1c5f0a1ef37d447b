"""dynamic-shapes: find declared dims that are not dynamic, run other sizes beside eager, propose what to declare."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.conditions import FROM, Pick, Sizes
from exportlint.trial.child.dynamic_shapes.declarations import (
    BrokenDeclaration,
    asked_ranges,
    constants,
    narrowed,
    range_of,
    static_equals,
    within,
)
from exportlint.trial.child.dynamic_shapes.eager_reach import MEMORY
from exportlint.trial.child.dynamic_shapes.free_export import traced
from exportlint.trial.child.dynamic_shapes.input_tensors import DimPlace, declared_code, input_tensors
from exportlint.trial.child.dynamic_shapes.other_sizes import SideBySide, Tried, picks, sizes_within
from exportlint.trial.child.dynamic_shapes.proposal import Proposed, Wish, proposed
from exportlint.trial.child.dynamic_shapes.size_facts import (
    conditions_of,
    constants_of,
    data_of,
    facts_of,
    names,
    plain_facts,
)
from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace, read_trace
from exportlint.trial.child.execution.call_record import kept_records
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import Inputs, inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.torch_private import dynamo
from exportlint.trial.protocol.frames import Frame, is_installed
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import DIFFERS, MODES, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.shown_by import SHOWN_BY_DECLARED, SHOWN_BY_OTHER_SIZES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from exportlint.trial.child.execution.executed_lines import Lines
    from exportlint.trial.protocol.size_facts import Fact, ShapesFound


_PART_OF_MEMORY = 8  # of what the stage may take: inputs, outputs and copies of them take as much again
_LOOKS = 3  # so many sizes show which lines run another number of times


def run(request: StageRequest) -> StageAnswer:
    """Options: "mode"; "auto" (propose what could be declared); "refused" (torch refused what is declared);
    "memory_mb" (what this process may take)."""
    if request.loaded.export:
        return StageAnswer(SKIPPED, "the target brings its own export call")
    sizes = _SizesOfTarget(request)
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
class _SizesOfTarget:
    """The sizes of one target's inputs, and what was found out about them."""

    request: StageRequest
    shapes: Any = None
    inputs: Inputs = ((), {})
    tensors: list[Any] = field(default_factory=list)
    found: list[Observation] = field(default_factory=list)
    agreed: dict[str, set[int]] = field(default_factory=dict)
    repeated: dict[str, set[int]] = field(default_factory=dict)
    looked: int = 0
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
        data = self._data()
        data["called_with_other_sizes"] = {
            path: sorted(lines) for path, lines in self.ran.items() if not is_installed(path)
        }
        if self.refusal:
            return StageAnswer(REFUSED, short(self.refusal), data)
        if any(seen.kind == "difference" for seen in self.found):
            return StageAnswer(DIFFERS, None, data)
        if not self.shapes_found:
            return StageAnswer(SKIPPED, "nothing is declared dynamic, and the other inputs have the sample's sizes")
        agreed = "; ".join(f"{name} {', '.join(map(str, sorted(some)))}" for name, some in self.agreed.items())
        return StageAnswer(PASSED, short(f"agrees for {agreed}") if agreed else "", data)

    def _data(self) -> dict[str, Any]:
        if not self.shapes_found:
            return {}
        self.shapes_found["facts"] += plain_facts(self.request.loaded.model(), self.inputs)
        shown = [
            *(SHOWN_BY_OTHER_SIZES if self.agreed else ()),
            *(SHOWN_BY_DECLARED if self.shapes is not None else ()),
        ]
        repeated = {path: sorted(lines) for path, lines in self.repeated.items()}
        return {
            "dynamic_shapes": self.shapes_found,
            "shown": dict.fromkeys(MODES, shown),
            "repeated": repeated,
        }

    def judge_declared(self) -> None:
        """The declared dims of the program that was exported with them."""
        exported = self.request.exported
        trace = read_trace(exported.sizes, self.tensors) if exported and exported.sizes else None
        if exported is None or trace is None:
            return
        mode, static = self.request.mode, static_equals(self.request.loaded, trace)
        self.found += [broken.observed("frozen-dim", mode=mode) for broken in constants(trace, static)]
        both = self._side_by_side(exported.program)
        for root, broken in narrowed(trace):
            least, most = broken.fact["range"]
            goes_on = self._eager_goes_on(both, trace, root)
            if least == most or goes_on:  # of one size alone, nothing is dynamic
                fact = {**broken.fact, "goes_on": goes_on}
                self.found.append(broken._replace(fact=fact).observed("narrowed-dim", mode=mode))
        ranges = {root: asked for root, asked in asked_ranges(trace).items() if root in trace.ranges}
        inside = {root: within(asked, trace.ranges[root]) for root, asked in ranges.items()}
        ones = [{root: 1} for root, (low, high) in ranges.items() if low <= 1 <= (high or 1)]
        free = sizes_within(trace, inside)
        agreed = self._try(both, trace, [*picks(trace.samples(), free, trace.conditions), *ones])
        smaller = {root for one in ones for root in one if one in agreed}
        self.shapes_found = {"facts": _declared_facts(trace, smaller), "code": declared_code(self.shapes)}

    def _side_by_side(self, program: Any) -> SideBySide:
        return SideBySide(self.request.loaded, program, self.inputs, self.tensors, self._steady())

    def _steady(self) -> bool:
        """Does eager repeat itself?"""
        eager, again = kept_records(self.request.folder.parent)
        pairs = zip(eager.calls, again.calls, strict=False)
        return not any(compare(a.output, b.output, exact=True) for a, b in pairs)

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
        agreed = []
        for tried in both.all(trace, wanted):
            self._take(tried, trace, names(trace))
            if tried.right:
                self._note_repeated(both, trace, tried.pick)
                agreed.append(tried.pick)
        for path, lines in both.ran.items():
            self.ran[path] |= lines
        return agreed

    def _take(self, tried: Tried, trace: SymbolicTrace, called: Mapping[Any, str]) -> None:
        """One run with other sizes: what differs is an observation."""
        sizes = [(called[root], _size(trace, root, tried.pick)) for root in tried.pick]
        if tried.wrong:
            self.found.append(_difference(sizes, tried, self.request.mode))
        elif tried.refused:
            self.found.append(Observation("note", tried.refused, details={"note": "size", "tried": sizes}))
        else:
            for name, size in sizes:
                self.agreed.setdefault(name, set()).add(size)

    def _note_repeated(self, both: SideBySide, trace: SymbolicTrace, pick: Pick) -> None:
        """The lines that ran another number of times; the first sizes show them."""
        self.looked += 1
        if self.repeated or self.looked > _LOOKS:
            return
        for path, lines in both.repeated(trace, pick).items():
            self.repeated.setdefault(path, set()).update(lines)

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
        """Of what torch refused, what could be declared: with the static dims that a declared one must equal, and any
        sizes for a dim of which the sample has one that the declaration does not allow."""
        loaded, mode = self.request.loaded, self.request.mode
        declared = {
            (tensor.label, dim): what if _allows(what, tensor.value.shape[dim]) else None
            for tensor in self.tensors
            for dim, what in tensor.asked().items()
        }
        trace = traced(loaded, self.inputs, mode, declared)
        static = static_equals(loaded, trace) if trace else {}
        self.propose(declared | {place: declared[one] for one, places in static.items() for place in places})
        for fact in self.shapes_found["facts"] if self.shapes_found else ():
            if fact["fact"] == "none":
                fact["fact"] = "none-declared"

    def judge_undeclared(self, places: list[DimPlace]) -> None:
        """The other inputs need dims that nothing declares."""
        self.propose(self.every() if self.request.options.get("auto") else dict.fromkeys(places))
        fixed = self._fixed_at_lines(places)
        free = [list(place) for place in places if not any(list(place) in dims for dims in fixed.values())]
        undeclared = {"fact": "other-inputs", "dims": free, "proposal": self.shapes_found}
        broken = [BrokenDeclaration(undeclared)] if free else []
        for frame, dims in fixed.items():
            broken.append(BrokenDeclaration({"fact": "other-inputs-fixed", "dims": dims}, (frame,)))
        self.found[:0] = [one.observed("static-dim", mode=self.request.mode) for one in broken]

    def _fixed_at_lines(self, places: list[DimPlace]) -> dict[Frame, list[list[Any]]]:
        """The line that makes a constant of a dim -> all dims of which it does, as facts name them."""
        found: dict[Frame, list[list[Any]]] = {}
        for fact in self.shapes_found["facts"] if self.shapes_found else ():
            if fact["fact"] == "fixed" and fact["place"] and tuple(fact["dim"]) in places:
                path, line, text = fact["place"]
                found.setdefault(Frame(path, line, "", text), []).append(fact["dim"])
        return found

    def propose(self, free: Mapping[DimPlace, Any]) -> None:
        """Propose what was exported with and ran with other sizes; what went wrong on the way is an observation."""
        loaded = self.request.loaded
        dynamo.reset()
        others = inputs_of(loaded, 1) if loaded.other_args is not None else None
        memory = min(MEMORY, int(self.request.options["memory_mb"] * 1_000_000 / _PART_OF_MEMORY))
        outcome = proposed(Wish(loaded, self.inputs, self.request.mode, free, others, self._steady(), memory))
        if outcome.refusal:
            self.refusal = f"with free dims: {outcome.refusal.first_line}"
            self.found.append(outcome.refusal)
            return
        self.shapes_found = outcome.found
        if outcome.trace is None:
            return
        for tried in outcome.tried:
            self._take(tried, outcome.trace, outcome.called)
            if outcome.both is not None and tried.right:
                self._note_repeated(outcome.both, outcome.trace, tried.pick)
        self._try_others(outcome, others)

    def _try_others(self, outcome: Proposed, others: Inputs | None) -> None:
        """The further inputs themselves, where the proposal takes them."""
        inside = [fact for fact in outcome.facts if fact["fact"] == "others-inside"]
        if others is None or outcome.both is None or not inside:
            return
        tried = outcome.both.given(others, {})
        inside[0]["agrees"] = None if tried.refused else tried.right
        if tried.wrong:
            self.found.append(_difference([("the other inputs", 1)], tried, self.request.mode))


def _allows(what: Any, size: int) -> bool:
    low, high = range_of(what)
    return low <= size <= (high or size)


def _declared_facts(trace: SymbolicTrace, smaller: Collection[Any]) -> list[Fact]:
    """What the program takes of what was declared. `smaller`: the symbols for which 1 was tried and is right."""
    ranges = {root: (1 if root in smaller else low, high) for root, (low, high) in trace.ranges.items()}
    called = names(trace)
    free = {root: Sizes(*bounds) for root, bounds in ranges.items()}
    return [
        *facts_of(trace, called, free),
        *conditions_of(trace, called),
        *constants_of(trace),
        *data_of(trace, called),
    ]


def _size(trace: SymbolicTrace, root: Any, pick: Pick) -> int:
    """As the inputs have it: of a dim that is the symbol itself, or of the first one, of which the symbol may be the
    eighth part."""
    dims = trace.of(root)
    first = next((dim for dim in dims if dim.form == root), dims[0])
    return int(first.form.xreplace(pick))


def _difference(sizes: list[tuple[str, int]], tried: Tried, mode: str) -> Observation:
    details: dict[str, Any] = {"check": "state" if tried.by_state else "sizes", "mode": mode, "tried": sizes}
    if tried.difference:
        details |= tried.difference.fields()
    return Observation("difference", tried.raised or "", details=details).at(tried.frames)
