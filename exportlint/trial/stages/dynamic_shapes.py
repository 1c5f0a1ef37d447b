"""dynamic-shapes: dims declared dynamic that are not, the program with other sizes, and what could be declared."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.calls import inputs_of
from exportlint.trial.dynamic.declared import Place, asked_ranges, constants, differs, narrowed, within
from exportlint.trial.dynamic.inputs import Inputs, leaves_of
from exportlint.trial.dynamic.other_sizes import Beside, Tried, picks
from exportlint.trial.dynamic.partners import partners
from exportlint.trial.dynamic.proposing import Proposed, proposed, traced
from exportlint.trial.dynamic.reading import FROM, Pick, Trace, read
from exportlint.trial.dynamic.saying import names, sentences
from exportlint.trial.observation import Observation, placed
from exportlint.trial.stage import DIFFERS, PASSED, REFUSED, SKIPPED, Answer, Request, short
from exportlint.trial.stages.eager import kept
from exportlint.trial.values import compare

if TYPE_CHECKING:
    from collections.abc import Mapping


def run(request: Request) -> Answer:
    """Options: "mode"; "auto" (propose what could be declared); "refused" (torch refused what is declared)."""
    if request.loaded.export:
        return Answer(SKIPPED, "the target brings its own export call")
    stage = _Stage(request)
    if stage.shapes is not None and request.made is not None:
        stage.declared()
    differing = stage.differing() if stage.shapes is None else []
    if differing:
        stage.undeclared(differing)
    elif request.options.get("auto"):
        stage.proposal(stage.every())
    elif request.options.get("refused"):
        stage.instead()
    return stage.answer()


@dataclass
class _Stage:
    request: Request
    shapes: Any = None
    inputs: Inputs = ((), {})
    leaves: list[Any] = field(default_factory=list)
    found: list[Observation] = field(default_factory=list)
    agreed: list[str] = field(default_factory=list)
    text: str | None = None
    refusal: str | None = None

    def __post_init__(self) -> None:
        loaded = self.request.loaded
        self.inputs, self.shapes = inputs_of(loaded, 0), loaded.dynamic_shapes()
        self.leaves = leaves_of(loaded.model(), self.inputs, self.shapes)

    def answer(self) -> Answer:
        for seen in self.found:
            self.request.emit(seen)
        data = {"dynamic_shapes": self.text} if self.text else {}
        if self.refusal:
            return Answer(REFUSED, short(self.refusal), data)
        wrong = [seen for seen in self.found if seen.kind == "difference"]
        if wrong:
            return Answer(DIFFERS, short(wrong[0].text), data)
        if not self.text:
            return Answer(SKIPPED, "nothing is declared dynamic, and the other inputs have the sample's sizes")
        return Answer(PASSED, short(f"agrees for {'; '.join(self.agreed)}") if self.agreed else "", data)

    def declared(self) -> None:
        """The declared dims of the program that was exported with them."""
        made = self.request.made
        trace = read(made.sizes, self.leaves) if made.sizes else None
        if trace is None:
            return
        mode = self.request.mode
        static = partners(self.request.loaded, trace)
        self.found += [differs("frozen-dim", broken, mode=mode) for broken in constants(trace, static)]
        beside = self._beside(made.program.module())
        for root, broken in narrowed(trace):
            if self._eager_goes_on(beside, trace, root):
                self.found.append(differs("narrowed-dim", broken, mode=mode))
        ranges = {root: asked for root, asked in asked_ranges(trace).items() if root in trace.ranges}
        inside = {root: within(asked, trace.ranges[root]) for root, asked in ranges.items()}
        ones = [{root: 1} for root, (low, high) in ranges.items() if low <= 1 <= (high or 1)]
        agreed = self._try(beside, trace, [*picks(trace, inside), *ones])
        said = sentences(trace, names(trace), {root: 1 for one in ones for root in one if one in agreed})
        written = re.sub(r"DimHint\((\w+)\)", r"Dim.\1", repr(self.shapes))
        self.text = "\n".join([*(f"# {sentence}" for sentence in said), f"dynamic_shapes = {written}"])

    def _beside(self, program: Any) -> Beside:
        eager, again = kept(self.request.folder.parent)
        steady = not any(compare(a.output, b.output, exact=True) for a, b in zip(eager.rows, again.rows, strict=False))
        return Beside(self.request.loaded.eager(), program, self.inputs, self.leaves, steady)

    def _eager_goes_on(self, beside: Beside, trace: Trace, root: Any) -> bool:
        """Does eager take a size just outside of the range that the trace allows?"""
        low, high = trace.ranges[root]
        for size in (high + 1 if high else None, low - 1 if low > FROM else None):
            tried = beside.tried(trace, {root: size}) if size else None
            if tried is not None and tried.eager is None:
                return True
        return False

    def _try(self, beside: Beside, trace: Trace, wanted: list[Pick]) -> list[Pick]:
        """The picks for which both agree; what differs is an observation."""
        called = names(trace)
        agreed = []
        for tried in beside.all(trace, wanted):
            said = ", ".join(f"{called[root]}={_size(trace, root, tried.pick)}" for root in tried.pick)
            if tried.wrong:
                self.found.append(_wrong(said, tried, self.request.mode))
            elif tried.eager:
                self.found.append(Observation("note", f"eager refuses {said}: {tried.eager}", details={"note": "size"}))
            else:
                self.agreed.append(said)
                agreed.append(tried.pick)
        return agreed

    def every(self) -> dict[Place, Any]:
        """All dims of all inputs, with what is declared for them."""
        return {(leaf.label, dim): leaf.asked().get(dim) for leaf in self.leaves for dim in range(leaf.tensor.dim())}

    def differing(self) -> list[Place]:
        """Dims that the target's other inputs have in another size."""
        loaded = self.request.loaded
        if loaded.other_args is None:
            return []
        others = {leaf.label: leaf.tensor for leaf in leaves_of(loaded.model(), inputs_of(loaded, 1))}
        return [
            (leaf.label, dim)
            for leaf in self.leaves
            if leaf.label in others and others[leaf.label].dim() == leaf.tensor.dim()
            for dim, size in enumerate(leaf.tensor.shape)
            if others[leaf.label].shape[dim] != size
        ]

    def instead(self) -> None:
        """Of what torch refused, what could be declared: with the static dims that a declared one must equal."""
        loaded, mode = self.request.loaded, self.request.mode
        declared = {(leaf.label, dim): what for leaf in self.leaves for dim, what in leaf.asked().items()}
        trace = traced(loaded, self.inputs, mode, declared)
        static = partners(loaded, trace) if trace else {}
        self.proposal(declared | {place: declared[one] for one, places in static.items() for place in places})

    def undeclared(self, places: list[Place]) -> None:
        """The other inputs need dims that nothing declares."""
        self.proposal(dict.fromkeys(places))
        what = " and ".join(f"dim {dim} of `{label}`" for label, dim in places)
        says = f"the other inputs differ from the sample in {what}, and nothing declares that dynamic"
        instead = f"export with\n{self.text}" if self.text else "make the dim free to move"
        self.found.insert(0, differs("static-dim", (says, instead, ()), mode=self.request.mode))

    def proposal(self, free: Mapping[Place, Any]) -> None:
        """Propose, export with it, and try other sizes of the program that comes out."""
        outcome = proposed(self.request.loaded, self.inputs, self.request.mode, free)
        if outcome.proposal:
            self.text = outcome.proposal.text
        if outcome.refusal:
            self.refusal = f"with free dims: {outcome.refusal.first_line}"
            self.found.append(outcome.refusal)
        elif outcome.trace is None:
            self.text = "\n".join(f"# {said}" for said in ("no dim of the inputs can be dynamic", *outcome.facts))
        else:
            self._tried(outcome, outcome.trace)

    def _tried(self, outcome: Proposed, trace: Trace) -> None:
        torch._dynamo.reset()  # noqa: SLF001 - documented as torch._dynamo.reset
        beside = outcome.beside(self.request.loaded.eager(), values=True)
        self._try(beside, trace, picks(trace, trace.ranges))


def _size(trace: Trace, root: Any, pick: Pick) -> int:
    """As the inputs have it: a symbol may stand for the eighth part of a dim."""
    return int(trace.of(root)[0].form.xreplace(pick))


def _wrong(said: str, tried: Tried, mode: str) -> Observation:
    details: Mapping[str, Any] = {"check": "sizes", "mode": mode}
    where = ", and here eager goes another way than for the sample" if tried.frames else ""
    return placed("difference", f"with {said}, declared dynamic: {tried.wrong}{where}", tried.frames, details=details)
