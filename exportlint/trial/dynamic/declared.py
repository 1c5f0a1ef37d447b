"""What was declared beside what the trace made of it: dims that are constants, or narrower than asked. In the child."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from exportlint.trial.dynamic.reading import FROM, Size, Trace
from exportlint.trial.dynamic.saying import condition_said, declared_as, listed, names, span
from exportlint.trial.observation import Frame, Observation, placed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.trial.dynamic.inputs import Leaf

Range = tuple[int, "int | None"]
Place = tuple[str, int]  # label of a tensor, dim
Partners = Mapping[Place, Sequence[Place]]
Broken = tuple[str, str, tuple[Frame, ...]]  # what is wrong, what to do, where


def range_of(what: Any) -> Range:
    """The sizes that a declaration allows; for Dim.AUTO and Dim.DYNAMIC those that torch traces."""
    low: Any = getattr(what, "min", None)
    high: Any = getattr(what, "max", None)
    default = 0 if hasattr(what, "__name__") else FROM
    return int(low) if low is not None else default, int(high) if _finite(high) else None


def within(one: Range, other: Range) -> Range:
    """What both allow."""
    highs = [high for _, high in (one, other) if high is not None]
    return max(one[0], other[0]), min(highs, default=None)


def _finite(bound: Any) -> bool:
    return bound is not None and str(bound) != "int_oo" and bound < 1 << 62


def asked_sizes(trace: Trace) -> Iterator[tuple[Size, Any]]:
    """Every dim that was declared dynamic, with its declaration."""
    for size in trace.sizes:
        if (what := size.leaf.asked().get(size.dim)) is not None:
            yield size, what


def asked_ranges(trace: Trace) -> dict[Any, Range]:
    """Symbol -> the sizes that were asked for it; what several dims ask holds together. Plain dims only."""
    found: dict[Any, Range] = {}
    for size, what in asked_sizes(trace):
        if not size.fixed and size.form.is_Symbol:
            asked = range_of(what)
            found[size.form] = within(asked, found.get(size.form, asked))
    return found


def constants(trace: Trace, partners: Partners) -> Iterator[Broken]:
    """Dims that were asked dynamic and are numbers, perhaps because a static dim must equal them."""
    for size, what in asked_sizes(trace):
        if not size.fixed or (size.symbol is None and not size.special):
            continue
        says = f"{size}, declared dynamic as `{declared_as(what)}`, "
        if size.special:
            says += f"is {size.sample} in the sample, and torch makes a constant of a size of 0 or 1"
            yield says, "export with a sample whose size there is 2 or more", ()
        else:
            frames = trace.why_fixed(size)
            if static := partners.get((size.leaf.label, size.dim)):
                others = " and ".join(f"dim {dim} of `{label}`" for label, dim in static)
                mine = declared_as(what)
                says = f"{size} (declared dynamic as `{mine}`) and {others} (static) must be equal{_here(frames)}"
                yield says, f"declare {others} as `{mine}` too", frames
                continue
            yield f"{says}became the constant {size.form}{_here(frames)}", _AS_IT_IS, frames


_AS_IT_IS = "hand the size to operators as it is, or leave the dim static"


def _here(frames: tuple[Frame, ...]) -> str:
    return " at this line" if frames else ""


def narrowed(trace: Trace) -> Iterator[tuple[Any, Broken]]:
    """Symbols whose range is smaller than what was asked."""
    called = names(trace)
    for root, (low, high) in asked_ranges(trace).items():
        least, most = trace.ranges[root]
        if (most is not None and (high is None or high > most)) or least > max(low, FROM):
            frames = trace.why_narrowed(root)
            says = f"{listed(trace.of(root))}, declared dynamic ({span(low, high)}), can only be {span(least, most)}"
            bound = "" if most is None else f", max={most}"
            instead = f'declare `Dim("{called[root]}", min={least}{bound})`, or take both ways'
            yield root, (says + (" because of this line" if frames else ""), instead, frames)


def conditions(trace: Trace) -> Iterator[Broken]:
    """What must hold that no declaration says."""
    called = names(trace)
    for condition in trace.conditions:
        if condition.symbols & set(asked_ranges(trace)):
            instead = "declare the dim as `8 * _n`, with `_n` a Dim" if condition.multiple else "declare it Dim.DYNAMIC"
            if condition.multiple:
                instead = instead.replace("8", str(condition.multiple[1]))
            says = f"declared dynamic, yet {condition_said(condition, called)}"
            yield says, instead, condition.frames


def unequal(trace: Trace) -> Iterator[Broken]:
    """Dims that must be equal and are declared as different ones."""
    first: dict[Any, tuple[Size, Any]] = {}
    for size, what in asked_sizes(trace):
        if size.fixed:
            continue
        other, declared = first.setdefault(size.form, (size, what))
        if declared_as(declared) != declared_as(what):
            mine, yours = declared_as(declared), declared_as(what)
            frames = trace.why_equal(size) or trace.why_equal(other)
            says = f"{other} (declared dynamic as `{mine}`) and {size} (`{yours}`) must be equal{_here(frames)}"
            yield says, f"declare both as `{mine}`", frames


def outside(leaves: Iterable[Leaf]) -> Iterator[Broken]:
    """Samples that are outside of their own declared range."""
    for leaf in leaves:
        for dim, what in leaf.asked().items():
            low, high = range_of(what)
            size = int(leaf.tensor.shape[dim])
            if size < low or (high is not None and size > high):
                says = f"the sample's dim {dim} of `{leaf.label}` is {size}, declared dynamic as `{declared_as(what)}` "
                yield f"{says}{span(low, high)}", "give a sample within the range, or declare a wider one", ()


def differs(check: str, broken: Broken, **details: Any) -> Observation:
    """A declared dim that is not what was asked, as a difference of the exported program."""
    says, instead, frames = broken
    return placed("difference", says, frames, details={"check": check, "instead": instead, **details})
