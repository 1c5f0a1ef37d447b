"""What a trace says about sizes, in sentences with the lines that made it so; and what was declared, in words."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

from exportlint.trial.dynamic.inputs import hint
from exportlint.trial.dynamic.reading import FROM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exportlint.trial.dynamic.reading import Condition, Size, Trace
    from exportlint.trial.observation import Frame

_INSIDE = {4: {2: "height", 3: "width"}, 5: {2: "frames", 3: "height", 4: "width"}, 3: {1: "length"}, 2: {1: "length"}}


def names(trace: Trace, given: Mapping[tuple[str, int], str] | None = None) -> dict[Any, str]:
    """A name for every free symbol: the declared one or one of those given for a dim of a tensor, "batch" for first
    dims, else by what the dim mostly is."""
    found: dict[Any, str] = {}
    for root in trace.roots():
        sizes = trace.of(root)
        known = ((given or {}).get((size.leaf.label, size.dim)) for size in sizes if size.form == root)
        name = next(filter(None, known), None) or _name(root, sizes)
        taken = sum(re.fullmatch(rf"{name}(_\d+)?", other) is not None for other in found.values())
        found[root] = f"{name}_{taken + 1}" if taken else name
    return found


def _name(root: Any, sizes: list[Size]) -> str:
    plain = [size for size in sizes if size.form == root] or sizes
    for size in plain:
        declared: Any = size.leaf.asked().get(size.dim)
        if hasattr(declared, "__name__") and declared.__name__.isidentifier():
            return str(declared.__name__)
    if any(size.dim == 0 and size.leaf.tensor.dim() > 1 for size in plain):
        return "batch"
    first = plain[0]
    rank = first.leaf.tensor.dim()
    if rank == 2 and first.leaf.tensor.is_floating_point():  # noqa: PLR2004 - features or steps: nobody knows
        return re.sub(r"\W+", "_", f"{first.leaf.label}_{first.dim}")
    return _INSIDE.get(rank, {}).get(first.dim) or re.sub(r"\W+", "_", f"{first.leaf.label}_{first.dim}")


def declared_as(what: Any) -> str:
    """`batch`, or `Dim.AUTO`."""
    return str(what.__name__) if hasattr(what, "__name__") else f"Dim.{hint(what)}"


def span(low: int, high: int | None) -> str:
    """A range in words."""
    return f"from {low} to {high}" if high is not None else f"{low} or more"


def where(frames: Iterable[Frame]) -> str:
    """The innermost line, to be written behind a sentence; "" for none."""
    last = next(iter(reversed(tuple(frames))), None)
    return f" ({_shown(last.path)}:{last.line}: `{last.text}`)" if last else ""


def _shown(path: str) -> str:
    """Short: from the working directory, or from the folder where packages are installed."""
    _, installed, inside = path.rpartition(f"-packages{os.sep}")
    return inside if installed else os.path.relpath(path)


def listed(sizes: Iterable[Size]) -> str:
    """ "dim 0 of `x` and of `mask`, dim 1 of `y`"."""
    dims: dict[int, list[str]] = {}
    for size in sizes:
        dims.setdefault(size.dim, []).append(f"of `{size.leaf.label}`")
    return ", ".join(f"dim {dim} {' and '.join(labels)}" for dim, labels in dims.items())


def sentences(trace: Trace, called: Mapping[Any, str], least: Mapping[Any, int] | None = None) -> Iterator[str]:
    """Every fact about sizes that the trace found: ranges, sizes that are equal, conditions, constants.

    `least`: the smallest size that is right, for a symbol where that is below what was traced.
    """
    for root, name in called.items():
        low, high = trace.ranges[root]
        tried = f" ({lower} was tried and is right too)" if (lower := (least or {}).get(root, low)) < low else ""
        yield f"{name}, {listed(trace.of(root))}: {span(low, high)}{tried}"
        if high is not None or low > FROM:
            yield from _because(span(low, high), trace.why_narrowed(root))
        yield from _equal(trace, root)
        for condition in trace.conditions:
            if condition.multiple and condition.multiple[0] == root:
                yield from _because(f"a multiple of {condition.multiple[1]}", condition.frames)
    for condition in trace.conditions:
        if not condition.multiple:
            yield condition_said(condition, called) + where(condition.frames)
    for size in trace.sizes:
        if size.fixed and size.leaf.asked().get(size.dim) is not None:
            yield fixed_said(size) + where(trace.why_fixed(size))


def _because(what: str, frames: Iterable[Frame]) -> Iterator[str]:
    if place := where(frames):
        yield f"  {what}{place}"


def _equal(trace: Trace, root: Any) -> Iterator[str]:
    """The lines that made one symbol of several."""
    said = {where(trace.why_equal(size)) for size in trace.of(root) if size.symbol != root}
    yield from (f"  equal{place}" for place in sorted(said) if place)


def fixed_said(size: Size) -> str:
    """Why a dim is a number."""
    if size.special:
        return f"{size} stays {size.sample}: torch fixes sizes of 0 and 1, so give a sample of 2 or more to free it"
    return f"{size} is always {size.form}"


def condition_said(condition: Condition, called: Mapping[Any, str]) -> str:
    """The condition in the names of the dims."""
    if condition.multiple:
        root, number = condition.multiple
        return f"{called.get(root, root)} is a multiple of {number}"
    text = str(condition.expr)
    for root, name in called.items():
        text = re.sub(rf"\b{re.escape(str(root))}\b", name, text)
    return f"it must hold that {_infix(text)}"


_RELATION = re.compile(r"\A(?P<name>Eq|Ne)\((?P<left>.*), (?P<right>[^,]*)\)\Z")


def _infix(text: str) -> str:
    found = _RELATION.match(text)
    return f"{found['left']} {'==' if found['name'] == 'Eq' else '!='} {found['right']}" if found else text
