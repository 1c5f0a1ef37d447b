"""State what a trace found about sizes, as the facts that `protocol.size_facts` describes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.symbolic_trace import FROM

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from exportlint.trial.child.dynamic_shapes.symbolic_trace import Condition, InputSize, SymbolicTrace
    from exportlint.trial.protocol.frames import Frame
    from exportlint.trial.protocol.size_facts import Fact


def dims_of(sizes: Iterable[InputSize]) -> list[list[Any]]:
    """As facts name them."""
    return [list(size.place) for size in sizes]


def place_of_frames(frames: Iterable[Frame]) -> list[Any] | None:
    """The innermost line; None for none."""
    last = next(iter(reversed(tuple(frames))), None)
    return [last.path, last.line, last.text] if last else None


def facts_of(trace: SymbolicTrace, called: Mapping[Any, str], least: Mapping[Any, int] | None = None) -> Iterator[Fact]:
    """Every fact that the trace found: ranges, sizes that are equal, conditions, constants.

    `least`: the smallest size that is right, for a symbol where that is below what was traced.
    """
    for root, name in called.items():
        yield from _of_symbol(trace, root, name, least or {})
    for condition in trace.conditions:
        if not condition.multiple:
            place = place_of_frames(condition.frames)
            yield {"fact": "holds", "expression": expression(condition, called), "place": place}
    for size in trace.sizes:
        if size.fixed and size.tensor.asked().get(size.dim) is not None:
            yield {"fact": "fixed", **_constant(size), "place": place_of_frames(trace.why_fixed(size))}


def _of_symbol(trace: SymbolicTrace, root: Any, name: str, least: Mapping[Any, int]) -> Iterator[Fact]:
    low, high = trace.ranges[root]
    smaller = least.get(root, low)
    dims = dims_of(trace.of(root))
    yield {
        "fact": "range",
        "name": name,
        "dims": dims,
        "range": [low, high],
        "smaller": smaller if smaller < low else None,
    }
    if high is not None or low > FROM:
        yield from _because({"range": [low, high]}, trace.why_narrowed(root))
    yield from _equal(trace, root)
    for condition in trace.conditions:
        if condition.multiple and condition.multiple[0] == root:
            yield from _because({"multiple": condition.multiple[1]}, condition.frames)


def _because(what: Mapping[str, Any], frames: Iterable[Frame]) -> Iterator[Fact]:
    if place := place_of_frames(frames):
        yield {"fact": "because", **what, "place": place}


def _equal(trace: SymbolicTrace, root: Any) -> Iterator[Fact]:
    """The lines that made one symbol of several."""
    places = {tuple(place) for size in trace.of(root) if (place := _why_equal(trace, size, root))}
    yield from ({"fact": "equal", "place": list(place)} for place in sorted(places))


def _why_equal(trace: SymbolicTrace, size: InputSize, root: Any) -> list[Any] | None:
    return place_of_frames(trace.why_equal(size)) if size.symbol != root else None


def _constant(size: InputSize) -> Fact:
    value = size.sample if size.special else int(size.form)
    return {"dim": list(size.place), "value": value, "special": size.special}


def expression(condition: Condition, called: Mapping[Any, str]) -> str:
    """The condition in the names of the dims."""
    text = str(condition.expr)
    for root, name in called.items():
        text = re.sub(rf"\b{re.escape(str(root))}\b", name, text)
    found = _RELATION.match(text)
    return f"{found['left']} {'==' if found['name'] == 'Eq' else '!='} {found['right']}" if found else text


_RELATION = re.compile(r"\A(?P<name>Eq|Ne)\((?P<left>.*), (?P<right>[^,]*)\)\Z")
