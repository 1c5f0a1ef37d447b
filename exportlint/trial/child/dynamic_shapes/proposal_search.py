"""Look for the widest declaration that torch takes and whose program agrees with eager for other sizes."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import sympy
from torch.export import Dim

from exportlint.trial.child.dynamic_shapes.conditions import FROM, Condition, Pick, Sizes, sentence
from exportlint.trial.child.dynamic_shapes.eager_reach import Eager, Reach, eager_reach
from exportlint.trial.child.dynamic_shapes.free_export import exported_with
from exportlint.trial.child.dynamic_shapes.free_sizes import FreeSizes, free_sizes
from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor, Written, tree_of
from exportlint.trial.child.dynamic_shapes.other_sizes import SideBySide, Tried, picks
from exportlint.trial.child.dynamic_shapes.size_facts import (
    constants_of,
    data_of,
    dims_of,
    facts_of,
    neutral_name,
    place_of_frames,
)
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.torch_messages import violated_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    import torch

    from exportlint.trial.child.dynamic_shapes.input_tensors import DimPlace
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace
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
    memory: int

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
    reach: dict[Any, Reach] = field(default_factory=dict)

    def run(self) -> Found:
        self._try_ones()
        self.reach = self._reach()
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
                return Found(written.code, self._facts(trace, free, tried), trace, everything, program)
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

    def _reach(self) -> dict[Any, Reach]:
        """How far eager goes with the sizes that the export allows."""
        start = self.start
        eager = Eager(start.loaded, start.inputs, start.tensors, start.trace, start.memory)
        sizes = self._free().sizes
        return eager_reach(eager, sizes) if sizes else {}

    def _free(self) -> FreeSizes:
        trace = self.start.trace
        ranges = {root: Sizes(*bounds) for root, bounds in trace.ranges.items()}
        for root, reach in self.reach.items():
            low, high = ranges[root].low, ranges[root].high
            low = low if reach.low is None else reach.low.size
            high = high if reach.high is None else reach.high.size
            ranges[root] = Sizes(low, high)
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

    def _ends(self, root: Any, sizes: Sizes) -> Iterator[Fact]:
        """Where eager raises beyond what is declared."""
        reach = self.reach[root]
        for end, bounds in ((reach.low, [sizes.low, None]), (reach.high, [None, sizes.high])):
            if end is not None and end.size in bounds:
                yield {
                    "fact": "eager-ends",
                    "range": bounds,
                    "beyond": [[self.start.called[one], size] for one, size in end.beyond.items()],
                    "eager_says": end.raised.brief,
                    "place": place_of_frames([end.raised.user] if end.raised.user else []),
                }

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
        yield from _tried(both, trace, [{root: size} for root, size in self._farthest(free).items()], done)

    def _farthest(self, free: FreeSizes) -> Pick:
        """The largest sizes with which eager ran."""
        reached = {root: reach.ran for root, reach in self.reach.items() if root in free.sizes}
        return {root: min(size, free.sizes[root].high or size) for root, size in reached.items()}

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

    def _facts(self, trace: SymbolicTrace, free: FreeSizes, tried: list[Tried]) -> tuple[Fact, ...]:
        called = {root: name for root, name in self.start.called.items() if root in free.sizes}
        limits = [_limiting(c, self.start.called) for c in free.limiting if not c.multiple]
        others = self.start.others
        shown = shown_by_others(trace, self.start.trace, self.start.called, free.sizes, others) if others else ()
        ranges = self._with_ends(facts_of(trace, called, free.sizes), free, tried)
        return (*ranges, *limits, *self._why_fixed(free), *shown)

    def _with_ends(self, facts: Iterable[Fact], free: FreeSizes, tried: list[Tried]) -> Iterator[Fact]:
        """What eager shows of each range, which the export does not see."""
        ends = {self.start.called[root]: root for root in free.sizes}
        for fact in facts:
            if fact["fact"] != "range":
                yield fact
                continue
            root = ends[fact["name"]]
            ran = [one.pick[root] for one in tried if one.right and root in one.pick]
            yield {**fact, "tried": max(ran, default=None), "memory": self.reach[root].memory}
            yield from self._ends(root, free.sizes[root])

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


# Say what the further inputs of a target show of a proposal: whether it takes them, and whether eager agrees.


def shown_by_others(
    trace: SymbolicTrace,
    everything: SymbolicTrace,
    called: Mapping[Any, str],
    free: Mapping[Any, Sizes],
    others: Mapping[DimPlace, int],
) -> Iterator[Fact]:
    """The dims of other sizes, or what keeps the further inputs out.

    trace        the proposal's
    everything   what was found with all dims free
    """
    different = [size for size in trace.sizes if others[size.place] != size.sample]
    outside = list(_outside(trace, free, others))
    if outside:
        dims = [[*place, others[place]] for place in outside]
        yield {"fact": "others-outside", "dims": dims, **_because(everything, called, others)}
    elif different:
        roots = {size.form: others[size.place] for size in different if size.form in free}
        yield {
            "fact": "others-inside",
            "sizes": [[called[root], number] for root, number in roots.items()],
            "agrees": None,
        }
    else:
        yield {"fact": "others-same"}


def _because(everything: SymbolicTrace, called: Mapping[Any, str], others: Mapping[DimPlace, int]) -> Fact:
    """The limit or the condition that the further inputs break; nothing where a dim is a constant, which is said."""
    pick = {size.form: others[size.place] for size in everything.sizes if size.form in everything.ranges}
    for root, number in pick.items():
        low, high = everything.ranges[root]
        if high is not None and number > high:
            place = place_of_frames(everything.why_narrowed(root, "high"))
            return {"expression": f"{called[root]} must be at most {high}", "place": place}
        if number < low and low > FROM:
            place = place_of_frames(everything.why_narrowed(root, "low"))
            return {"expression": f"{called[root]} must be at least {low}", "place": place}
    broken = next((c for c in everything.conditions if not c.holds(pick)), None)
    if broken is None:
        return {}
    return {"expression": sentence(broken.expr, called), "place": place_of_frames(broken.frames)}


def _outside(trace: SymbolicTrace, free: Mapping[Any, Sizes], others: Mapping[DimPlace, int]) -> Iterator[DimPlace]:
    pick = {size.form: others[size.place] for size in trace.sizes if size.form in free}
    for size in trace.sizes:
        number = others[size.place]
        if size.form in free:
            fits = number in free[size.form] and number == pick[size.form]
        else:
            known = size.fixed or size.form.free_symbols <= set(pick)
            fits = not known or number == (size.form if size.fixed else size.form.xreplace(pick))
        if not fits and not (size.fixed and number == size.sample):
            yield size.place


# Write a `dynamic_shapes` to paste: named dims that inputs share, with their ranges.


@dataclass(frozen=True)
class ShapesCode:
    """`code` is Python; `shapes` what it makes."""

    code: str
    shapes: Any


def write_shapes(
    trace: SymbolicTrace,
    tree_for: Callable[[Callable[[str, torch.Tensor], Any]], dict[str, Any]],
    called: Mapping[Any, str],
    free: Mapping[Any, Sizes],
    loose: Collection[Any] = (),
) -> ShapesCode:
    """Declare the dims of the trace that are made of free symbols.

    tree_for   makes a `dynamic_shapes` of the inputs, given what to put in the place of each tensor
    called     the names of the symbols
    free       the sizes of each symbol that may move
    loose      symbols, and names of sums, of which torch does not see that their range is right: they get no name
    """
    writing = _Writing(trace, called, free, loose)
    tree = tree_for(writing.tensor)
    code = "\n".join([*_IMPORTS, *writing.declarations(), f"dynamic_shapes = {_laid_out(tree)}"])
    return ShapesCode(code, _made(code, tree))


_IMPORTS = ("from torch.export import Dim", "")


def _made(text: str, tree: Any) -> Any:
    """The value of the text, whose only names beside Dim are the named tuples among the inputs."""
    space: dict[str, Any] = {type(part).__name__: type(part) for part in _tuples(tree)}
    exec(text, space)  # noqa: S102 - it was written above, out of names and numbers
    return space["dynamic_shapes"]


def _tuples(tree: Any) -> Iterator[Any]:
    if hasattr(tree, "_fields"):
        yield tree
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, (list, tuple)) else ():
        yield from _tuples(part)


def _laid_out(tree: dict[str, Any]) -> str:
    """One argument a line."""
    return "{\n" + "".join(f"    {name!r}: {part!r},\n" for name, part in tree.items()) + "}"


class _Writing:
    def __init__(
        self, trace: SymbolicTrace, called: Mapping[Any, str], free: Mapping[Any, Sizes], loose: Collection[Any]
    ) -> None:
        self._called = called
        self._free = free
        self._places = {size.place: size for size in trace.sizes}
        self._loose = loose
        self._names_of_sums = names_of_sums(trace)
        self._used: dict[str, str] = {}

    def declarations(self) -> list[str]:
        return list(self._used.values())

    def tensor(self, label: str, tensor: torch.Tensor) -> Any:
        dims = {dim: self._dim(self._places[label, dim]) for dim in range(tensor.dim()) if (label, dim) in self._places}
        return {dim: Written(code) for dim, code in dims.items() if code} or None

    def _dim(self, size: InputSize) -> str | None:
        if size.fixed:
            return None
        (root, *others), form = sorted(size.form.free_symbols, key=str), size.form
        factor, rest = _linear(form, root) if not others else (None, 0)
        if factor is None:
            return self._computed(size)
        if root in self._loose:
            return self._range_only(root) if form == root else "Dim.AUTO"
        step, offset = self._free[root].step, self._free[root].low % self._free[root].step
        return _expression(self._declared(root), factor * step, factor * offset + rest)

    def _declared(self, root: Any) -> str:
        sizes, name = self._free[root], self._called[root]
        if sizes.step == 1:
            low, high = sizes.low, sizes.high
        else:
            name = f"_{name}"
            low, high = sizes.low // sizes.step, None if sizes.high is None else sizes.high // sizes.step
        self._used[name] = f'{name} = Dim("{name}"{_bounds(low, high)})'
        return name

    def _computed(self, size: InputSize) -> str:
        """A sum of two sizes, say, which follows from them. With 1 there eager would broadcast, and the program not."""
        name = self._names_of_sums[size.place]
        if name in self._loose:
            return "Dim.AUTO"
        roots = size.form.free_symbols
        low = int(size.form.xreplace({root: self._free[root].low for root in roots}))
        highs = {root: self._free[root].high for root in roots}
        high = None if None in highs.values() else int(size.form.xreplace(highs))
        self._used[name] = f'{name} = Dim("{name}"{_bounds(max(FROM, low), high)})'
        return name

    def _range_only(self, root: Any) -> str:
        """Dim.DYNAMIC with the range; it took none before torch 2.7."""
        sizes = self._free[root]
        if not callable(Dim.DYNAMIC) or (sizes.low <= FROM and sizes.high is None):
            return "Dim.DYNAMIC"
        return f"Dim.DYNAMIC({_bounds(max(FROM, sizes.low), sizes.high).removeprefix(', ')})"


def names_of_sums(trace: SymbolicTrace) -> dict[tuple[str, int], str]:
    """Names for the dims that are computed from several others."""
    sums = (size for size in trace.sizes if not size.fixed and len(size.form.free_symbols) > 1)
    return {size.place: neutral_name(size) for size in sums}


def _bounds(low: int, high: int | None) -> str:
    return f", min={low}" + ("" if high is None else f", max={high}")


def _expression(name: str, factor: int, rest: int) -> str:
    """`2 * name + 1`."""
    text = name if factor == 1 else f"{factor} * {name}"
    if rest:
        text += f" + {rest}" if rest > 0 else f" - {-rest}"
    return text


def _linear(form: Any, root: Any) -> tuple[int | None, int]:
    """2 and 1 for `2*s + 1`."""
    poly = sympy.Poly(form, root) if form.is_polynomial(root) else None
    if poly is None or poly.degree() != 1 or not all(c.is_Integer for c in poly.all_coeffs()):
        return None, 0
    factor, rest = (int(c) for c in poly.all_coeffs())
    return factor, rest
