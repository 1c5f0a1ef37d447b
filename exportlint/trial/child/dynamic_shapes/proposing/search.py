"""Look for the widest declaration that torch takes and whose program agrees with eager for other sizes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.condition_text import sentence
from exportlint.trial.child.dynamic_shapes.conditions import FROM, Condition, Pick, Sizes
from exportlint.trial.child.dynamic_shapes.facts import constants_of, data_of, dims_of, facts_of, place_of_frames
from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor, tree_of
from exportlint.trial.child.dynamic_shapes.other_sizes import SideBySide, Tried, picks
from exportlint.trial.child.dynamic_shapes.proposing.free_export import exported_with
from exportlint.trial.child.dynamic_shapes.proposing.free_sizes import FreeSizes, free_sizes
from exportlint.trial.child.dynamic_shapes.proposing.other_inputs import shown_by_others
from exportlint.trial.child.dynamic_shapes.proposing.proposal_code import (
    ShapesCode,
    names_of_sums,
    violated_names,
    write_shapes,
)
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from exportlint.trial.child.dynamic_shapes.declarations import DimPlace
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import SymbolicTrace
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.observation import Observation
    from exportlint.trial.protocol.size_facts import Fact


_ATTEMPTS = 12


@dataclass(frozen=True)
class Start:
    """What an export with free dims found, and the names of its symbols. `others`: sizes that are wanted too."""

    loaded: Loaded
    inputs: Inputs
    mode: str
    trace: SymbolicTrace
    called: Mapping[Any, str]
    others: Mapping[DimPlace, int] | None
    steady: bool

    @property
    def tensors(self) -> list[InputTensor]:
        return list({size.tensor.label: size.tensor for size in self.trace.sizes}.values())

    def side_by_side(self, program: Any) -> SideBySide:
        return SideBySide(self.loaded, program, self.inputs, self.tensors, self.steady)


@dataclass(frozen=True)
class Found:
    """A declaration that holds; `code` is None where every dim has to stay as it is."""

    code: str | None
    facts: tuple[Fact, ...]
    trace: SymbolicTrace
    tried: list[Tried]
    program: Any = None


@dataclass
class ProposalSearch:
    """What is known so far: `least` sizes, symbols that stay `fixed` and why, those declared without a name (`loose`),
    and what went wrong with sizes that torch takes."""

    start: Start
    least: dict[Any, int]
    program: Any
    fixed: dict[Any, Fact] = field(default_factory=dict)
    loose: set[Any] = field(default_factory=set)
    wrong: list[Tried] = field(default_factory=list)

    def run(self) -> Found:
        self._try_ones()
        free = FreeSizes()
        for _ in range(_ATTEMPTS):
            free = self._free()
            if not free.sizes:
                break
            trace = copy.copy(self.start.trace)
            trace.fix(free.fixed)
            written = self._written(trace, free)
            try:
                program = exported_with(self.start.loaded, self.start.inputs, written.shapes, self.start.mode)
            except Exception as exc:  # noqa: BLE001 - torch lets anything through
                self._refused(of_exception(exc), free)
                continue
            tried = list(self._runs(program, trace, free))
            if not self._learned(program, trace, free, tried):
                everything = [*tried, *(one for index, one in enumerate(self.wrong) if one not in self.wrong[:index])]
                return Found(written.code, self._facts(trace, free), trace, everything, program)
        nothing: Fact = {"fact": "not-found" if free.sizes else "none"}
        return Found(None, (nothing, *self._why_fixed(free)), self.start.trace, self.wrong)

    def _try_ones(self) -> None:
        """A size of 1, which torch does not trace, is declared where it is right, or where only a run can tell."""
        trace, both = self.start.trace, self.start.side_by_side(self.program)
        for root in trace.roots():
            if trace.ranges[root][0] > FROM:
                self.least[root] = trace.ranges[root][0]
            elif self.least[root] <= 1:
                tried = both.tried(trace, {root: 1})
                right = tried is not None and tried.refused is None and tried.difference is None
                self.least[root] = 1 if right else FROM

    def _free(self) -> FreeSizes:
        trace = self.start.trace
        ranges = {root: Sizes(*bounds) for root, bounds in trace.ranges.items()}
        wanted = [pick for pick in [self._other_pick()] if pick]
        found = free_sizes(trace.conditions, trace.samples(), ranges, wanted, self.fixed)
        for root, sizes in found.sizes.items():
            if sizes.low <= FROM and sizes.step == 1 and root not in self.loose:
                found.sizes[root] = replace(sizes, low=min(sizes.low, self.least[root]))
        return found

    def _other_pick(self) -> Pick:
        """The symbols in the further inputs."""
        others = self.start.others or {}
        return {
            size.form: others[size.place]
            for size in self.start.trace.sizes
            if size.place in others and size.form.is_Symbol
        }

    def _written(self, trace: SymbolicTrace, free: FreeSizes) -> ShapesCode:
        tree = partial(tree_of, self.start.loaded.model(), self.start.inputs)
        return write_shapes(trace, tree, self.start.called, free.sizes, self.loose)

    def _refused(self, refusal: Observation, free: FreeSizes) -> None:
        """Torch names the dims whose range it does not see: they are declared without a name, and then not at all."""
        said = violated_names(refusal.text)
        named = [root for root in free.sizes if {self.start.called[root], f"_{self.start.called[root]}"} & said]
        sums = [name for name in names_of_sums(self.start.trace).values() if name in said and name not in self.loose]
        able = [root for root in free.sizes if root not in self.loose and free.sizes[root].step == 1]
        new = [*sums, *(root for root in named if root in able)] if said else able[-1:]
        self.loose.update(new)
        for root in [] if new else named or list(free.sizes)[-1:]:
            self.fixed[root] = {"fact": "not-taken", "dims": self._dims(root), "torch_says": short(refusal.text)}

    def _dims(self, root: Any) -> list[list[Any]]:
        return dims_of(self.start.trace.of(root))

    def _runs(self, program: Any, trace: SymbolicTrace, free: FreeSizes) -> Iterator[Tried]:
        """Other sizes beside eager: all symbols at once, each at 1, and each alone that no such run moved."""
        both, samples = self.start.side_by_side(program), trace.samples()
        ones = [root for root, sizes in free.sizes.items() if sizes.low == 1]
        lowest = {root: sizes.low for root, sizes in free.sizes.items()}
        wanted = [*picks(samples, free.sizes), *({root: 1} for root in ones), dict.fromkeys(ones, 1), lowest]
        done: list[Tried] = []
        yield from _tried(both, trace, wanted, done)
        moved = {root for one in done for root in _moved(one, samples)}
        unmoved = [root for root in free.sizes if root not in moved]
        yield from _tried(both, trace, [p for root in unmoved for p in picks(samples, {root: free.sizes[root]})], done)
        loose = [root for root in free.sizes if root in self.loose]
        yield from _tried(both, trace, [p for root in loose for p in _beyond(samples, root, free.sizes[root])], done)

    def _learned(self, program: Any, trace: SymbolicTrace, free: FreeSizes, tried: list[Tried]) -> bool:
        """Take back what went wrong, or never ran; False where there is nothing to take back."""
        both, samples = self.start.side_by_side(program), trace.samples()
        bad = [one for one in tried if one.wrong]
        for one in bad:
            roots = [root for root, size in one.pick.items() if size != samples[root]]
            single = [root for root in roots if (alone := both.tried(trace, {root: one.pick[root]})) and alone.wrong]
            # Where 1 is right for each alone, it is taken back for one after the other.
            for root in single or [root for root in roots if one.pick[root] <= 1][-1:] or roots:
                self._take_back(root, one)
        moved = {root for one in tried for root in _moved(one, samples)}
        unmoved = [root for root in free.sizes if root not in moved] if not bad else []
        for root in unmoved:
            refused = next((one for one in tried if one.refused and root in one.pick), None)
            self.fixed[root] = {
                "fact": "not-run",
                "dims": self._dims(root),
                "eager_says": refused.refused if refused else None,
            }
        return bool(bad or unmoved)

    def _take_back(self, root: Any, bad: Tried) -> None:
        size = bad.pick[root]
        if size <= 1:
            self.least[root] = FROM
            return
        says = bad.raised or "it gives something else than eager"
        self.fixed.setdefault(root, {"fact": "goes-wrong", "dims": self._dims(root), "size": size, "says": short(says)})
        if bad.difference is not None:
            self.wrong.append(bad)

    def _facts(self, trace: SymbolicTrace, free: FreeSizes) -> tuple[Fact, ...]:
        called = {root: name for root, name in self.start.called.items() if root in free.sizes}
        limits = [_limiting(c, self.start.called) for c in free.limiting if not c.multiple]
        others = self.start.others
        shown = shown_by_others(trace, self.start.trace, self.start.called, free.sizes, others) if others else ()
        return (*facts_of(trace, called, free.sizes), *limits, *self._why_fixed(free), *shown)

    def _why_fixed(self, free: FreeSizes) -> Iterator[Fact]:
        yield from self._fixed_by(free)
        yield from self.fixed.values()
        yield from constants_of(self.start.trace)
        yield from data_of(self.start.trace, self.start.called)

    def _fixed_by(self, free: FreeSizes) -> Iterator[Fact]:
        """The conditions that leave sizes no room, each with the dims that it keeps."""
        for condition in dict.fromkeys(c for c in free.fixed.values() if c is not None):
            dims = [dim for root, cause in free.fixed.items() if cause == condition for dim in self._dims(root)]
            text = sentence(condition.expr, self.start.called)
            yield {"fact": "fixed-by", "expression": text, "dims": dims, "place": place_of_frames(condition.frames)}


def _tried(both: SideBySide, trace: SymbolicTrace, wanted: list[Pick], done: list[Tried]) -> Iterator[Tried]:
    """Run what was not run yet; `done` grows."""
    samples = trace.samples()
    for pick in wanted:
        known = [{**samples, **one.pick} for one in done]
        if {**samples, **pick} not in [samples, *known] and (tried := both.tried(trace, pick)) is not None:
            done.append(tried)
            yield tried


def _moved(tried: Tried, samples: Pick) -> set[Any]:
    """The symbols that had another size than the sample's in a run that agreed."""
    return {root for root, size in tried.pick.items() if tried.right and size != samples[root]}


def _beyond(samples: Pick, root: Any, sizes: Sizes) -> list[Pick]:
    """Sizes next to the sample, which a condition that torch keeps in the program may exclude."""
    near = (samples[root] + step for step in (-2, -1, 1, 2, 3))
    return [{root: size} for size in near if size >= FROM and size in sizes]


def _limiting(condition: Condition, called: Mapping[Any, str]) -> Fact:
    return {
        "fact": "limits",
        "expression": sentence(condition.expr, called),
        "place": place_of_frames(condition.frames),
    }
