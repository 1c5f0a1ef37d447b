"""Compare what was declared with what the trace made of it: dims that are constants, or narrower than asked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from exportlint.trial.child.dynamic_shapes.conditions import FROM, sentence
from exportlint.trial.child.dynamic_shapes.free_export import traced
from exportlint.trial.child.dynamic_shapes.input_tensors import DimPlace, hint, input_tensors
from exportlint.trial.child.dynamic_shapes.size_facts import declared_as, dims_of, names
from exportlint.trial.child.dynamic_shapes.symbolic_trace import read_trace
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import NON_STRICT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.trial.child.dynamic_shapes.input_tensors import InputTensor
    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace
    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.child.torch_private.symbolic_shapes import ShapeDecisions
    from exportlint.trial.protocol.frames import Frame
    from exportlint.trial.protocol.size_facts import Fact


Range = tuple[int, "int | None"]
EqualDims = Mapping[DimPlace, Sequence[DimPlace]]


class BrokenDeclaration(NamedTuple):
    """What is wrong with a declaration, and the line that breaks it."""

    fact: Fact
    frames: tuple[Frame, ...] = ()

    def observed(self, check: str, **details: Any) -> Observation:
        """As a difference of the exported program."""
        return Observation("difference", details={"check": check, "sizes": [self.fact], **details}).at(self.frames)


def range_of(what: Any) -> Range:
    """The sizes that a declaration allows; for Dim.AUTO and Dim.DYNAMIC those that torch traces."""
    low: Any = getattr(what, "min", None)
    high: Any = getattr(what, "max", None)
    default = 0 if hasattr(what, "__name__") else FROM
    return int(low) if low is not None else default, int(high) if _finite(high) else None


def within(one: Range, other: Range) -> Range:
    """The sizes that both ranges allow."""
    highs = [high for _, high in (one, other) if high is not None]
    return max(one[0], other[0]), min(highs, default=None)


def _finite(bound: Any) -> bool:
    return bound is not None and str(bound) != "int_oo" and bound < 1 << 62


def asked_sizes(trace: SymbolicTrace) -> Iterator[tuple[InputSize, Any]]:
    """Every dim that was declared dynamic, with its declaration."""
    for size in trace.sizes:
        if (what := size.tensor.asked().get(size.dim)) is not None:
            yield size, what


def asked_ranges(trace: SymbolicTrace) -> dict[Any, Range]:
    """Symbol -> the sizes that were asked for it; what several dims ask holds together. Plain dims only."""
    found: dict[Any, Range] = {}
    for size, what in asked_sizes(trace):
        if not size.fixed and size.form.is_Symbol:
            asked = range_of(what)
            found[size.form] = within(asked, found.get(size.form, asked))
    return found


def constants(trace: SymbolicTrace, equal: EqualDims) -> Iterator[BrokenDeclaration]:
    """Dims that were asked dynamic and are numbers, perhaps because a static dim must equal them."""
    for size, what in asked_sizes(trace):
        if size.fixed and (size.symbol is not None or size.special):
            yield _constant(trace, size, declared_as(what), equal.get(size.place, ()))


def _constant(trace: SymbolicTrace, size: InputSize, declared: str, static: Sequence[DimPlace]) -> BrokenDeclaration:
    about = {"dim": list(size.place), "declared": declared}
    if size.special:
        return BrokenDeclaration({"fact": "special", **about, "sample": size.sample})
    frames = trace.why_fixed(size)
    here = bool(frames)
    if static:
        return BrokenDeclaration(
            {"fact": "equals-static", **about, "others": list(map(list, static)), "here": here}, frames
        )
    return BrokenDeclaration({"fact": "constant", **about, "value": int(size.form), "here": here}, frames)


def narrowed(trace: SymbolicTrace) -> Iterator[tuple[Any, BrokenDeclaration]]:
    """Symbols whose range is smaller than what was asked."""
    called = names(trace)
    for root, (low, high) in asked_ranges(trace).items():
        least, most = trace.ranges[root]
        if (most is not None and (high is None or high > most)) or least > max(low, FROM):
            frames = trace.why_narrowed(root)
            fact = {"fact": "narrowed", "dims": dims_of(trace.of(root)), "name": called[root], "here": bool(frames)}
            yield root, BrokenDeclaration({**fact, "asked": [low, high], "range": [least, most]}, frames)


def conditions(trace: SymbolicTrace) -> Iterator[BrokenDeclaration]:
    """What must hold of the sizes and is in no declaration."""
    called = names(trace)
    for condition in trace.conditions:
        if condition.symbols & set(asked_ranges(trace)):
            if condition.multiple:
                root, number = condition.multiple
                what = {"name": called.get(root, str(root)), "multiple": number}
            else:
                what = {"expression": sentence(condition.expr, called)}
            yield BrokenDeclaration({"fact": "condition", **what}, condition.frames)


def unequal(trace: SymbolicTrace) -> Iterator[BrokenDeclaration]:
    """Dims that must be equal and are declared as different ones."""
    first: dict[Any, tuple[InputSize, str]] = {}
    for size, what in asked_sizes(trace):
        if size.fixed:
            continue
        other, other_declared = first.setdefault(size.form, (size, declared_as(what)))
        if other_declared != declared_as(what):
            frames = trace.why_equal(size) or trace.why_equal(other)
            fact = {"fact": "unequal", "dim": list(size.place), "declared": declared_as(what), "here": bool(frames)}
            about_other = {"other": list(other.place), "other_declared": other_declared}
            yield BrokenDeclaration({**fact, **about_other}, frames)


def outside(tensors: Iterable[InputTensor]) -> Iterator[BrokenDeclaration]:
    """Samples that are outside of their own declared range."""
    for tensor in tensors:
        for dim, what in tensor.asked().items():
            low, high = range_of(what)
            size = int(tensor.value.shape[dim])
            if size < low or (high is not None and size > high):
                about = {"dim": [tensor.label, dim], "declared": declared_as(what)}
                yield BrokenDeclaration({"fact": "outside", **about, "sample": size, "asked": [low, high]})


def constant_samples(tensors: Iterable[InputTensor]) -> Iterator[BrokenDeclaration]:
    """Samples of 0 or 1 where that is declared to be dynamic, whatever the model does."""
    for tensor in tensors:
        for dim, what in tensor.asked().items():
            size = int(tensor.value.shape[dim])
            if size < FROM and hint(what) != "AUTO":
                about = {"dim": [tensor.label, dim], "declared": declared_as(what)}
                yield BrokenDeclaration({"fact": "special", **about, "sample": size})


# Find static dims that must equal a dim declared dynamic, which they make a constant.


def static_equals(loaded: Loaded, trace: SymbolicTrace) -> EqualDims:
    """Declared dim that became a constant -> the undeclared dims that equal it where all of them may move."""
    asked = {size.place: size for size, _ in asked_sizes(trace)}
    fixed = [size for size in asked.values() if size.fixed and size.symbol is not None]
    samples = {size.sample for size in fixed}
    others = [size for size in trace.sizes if size.place not in asked and size.sample in samples]
    free = (
        traced(loaded, inputs_of(loaded, 0), NON_STRICT, {*asked, *(size.place for size in others)}) if others else None
    )
    if free is None:
        return {}
    forms = {size.place: size.form for size in free.sizes if not size.fixed}
    static = [size.place for size in others if size.place in forms]
    found = {
        place: [p for p in static if forms[p] == forms[place]]
        for place in (size.place for size in fixed)
        if place in forms
    }
    return {place: equal for place, equal in found.items() if equal}


# Place torch's "Constraints violated": which declarations do not hold, and the lines that break them.


def violations(loaded: Loaded, decisions: ShapeDecisions, refusal: Observation) -> list[Observation]:
    """The refusal once for each line that breaks a declaration, with the facts; as it is where none is known."""
    tensors = input_tensors(loaded.model(), inputs_of(loaded, 0), loaded.dynamic_shapes())
    trace = read_trace(decisions, tensors)
    found = list(constant_samples(tensors)) or list(outside(tensors))
    if trace and not found:
        found = [
            *constants(trace, static_equals(loaded, trace)),
            *(broken for _, broken in narrowed(trace)),
            *unequal(trace),
            *conditions(trace),
        ]
    by_line: dict[tuple[str, int], list[BrokenDeclaration]] = defaultdict(list)
    for broken in found:
        last = broken.frames[-1] if broken.frames else None
        by_line[(last.path, last.line) if last else ("", 0)].append(broken)
    return [_at_line(refusal, group) for group in by_line.values()] or [refusal]


def _at_line(refusal: Observation, group: list[BrokenDeclaration]) -> Observation:
    plain = replace(refusal, gb_id=None).with_details(sizes=[broken.fact for broken in group])
    return plain.at(group[0].frames)
