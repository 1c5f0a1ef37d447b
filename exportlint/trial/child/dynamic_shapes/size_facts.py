"""State what a trace found about sizes, as the facts that `protocol.size_facts` describes."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.dynamic_shapes.conditions import FROM, LARGE, LOOK, Sizes, holds, sentence, written
from exportlint.trial.child.dynamic_shapes.input_tensors import hint, plain_inputs

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from exportlint.trial.child.dynamic_shapes.symbolic_trace import InputSize, SymbolicTrace
    from exportlint.trial.child.execution.inputs.input_sets import Inputs
    from exportlint.trial.protocol.frames import Frame
    from exportlint.trial.protocol.size_facts import Fact


def dims_of(sizes: Iterable[InputSize]) -> list[list[Any]]:
    """As facts name them."""
    return [list(size.place) for size in sizes]


def place_of_frames(frames: Iterable[Frame]) -> list[Any] | None:
    """The innermost line; None for none."""
    last = next(iter(reversed(tuple(frames))), None)
    return [last.path, last.line, last.text] if last else None


def facts_of(trace: SymbolicTrace, called: Mapping[Any, str], free: Mapping[Any, Sizes]) -> Iterator[Fact]:
    """What the trace found of free sizes: ranges, sizes that are equal or follow from others, and the lines.

    `free`: the sizes of a symbol that are declared; without, all that the trace allows.
    """
    for root, name in called.items():
        yield from _of_symbol(trace, root, name, free.get(root))
    for size in trace.sizes:
        if not size.fixed and not size.form.is_Symbol and size.form.free_symbols <= set(called):
            coupled = (trace.coupled[root] for root in size.form.free_symbols if root in trace.coupled)
            place = place_of_frames(trace.why_equal(size) or next(coupled, ()))
            yield {"fact": "follows", "dim": list(size.place), "expression": written(size.form, called), "place": place}


def conditions_of(trace: SymbolicTrace, called: Mapping[Any, str]) -> Iterator[Fact]:
    """What must hold of several sizes, or of one beyond its range."""
    for condition in trace.conditions:
        if not condition.multiple:
            place = place_of_frames(condition.frames)
            yield {"fact": "holds", "expression": sentence(condition.expr, called), "place": place}


def constants_of(trace: SymbolicTrace) -> Iterator[Fact]:
    """The dims that were to be free and are numbers."""
    for size in trace.sizes:
        if size.fixed and size.tensor.asked().get(size.dim) is not None:
            yield {"fact": "fixed", **_constant(size), "place": place_of_frames(trace.why_fixed(size))}


def data_of(trace: SymbolicTrace, called: Mapping[Any, str]) -> Iterator[Fact]:
    """What is demanded of numbers that are read from data, by the names that the code gives them."""
    env, read_at = trace.env, trace.decisions.read_at
    named = {symbol: name for symbol in env.var_to_range if (name := _name_in_code(str(symbol), read_at))}
    called = {**named, **called}
    asserts = [one.expr for some in getattr(env, "deferred_runtime_asserts", {}).values() for one in some]
    asserts = list(dict.fromkeys(expr for expr in map(env.replace, asserts) if _is_of_data(expr, read_at)))
    asserted = {symbol for expr in asserts for symbol in expr.free_symbols}
    for symbol, bounds in env.var_to_range.items():
        if (frames := read_at.get(str(symbol))) is not None:
            ends = (int(end) if getattr(end, "is_Integer", False) else None for end in (bounds.lower, bounds.upper))
            low, high = ends
            if low or high is not None or symbol in asserted:
                yield {
                    "fact": "data",
                    "name": called.get(symbol, str(symbol)),
                    "range": [low, high],
                    "place": place_of_frames(frames),
                }
            within = range(low or 0, min(high or LARGE, (low or 0) + LOOK) + 1)
            asserts = [
                e for e in asserts if e.free_symbols != {symbol} or not all(holds(e, {symbol: n}) for n in within)
            ]
    for expr in asserts:
        place = place_of_frames(trace.decisions.frames("guard", expr))
        yield {"fact": "holds", "expression": sentence(expr, called), "place": place}


def _name_in_code(symbol: str, read_at: Mapping[str, Sequence[Frame]]) -> str | None:
    """`n`, where `n = size.item()` is the line that reads the number, and reads no other one."""
    here = place_of_frames(read_at.get(symbol, ()))
    if here is None or sum(place_of_frames(frames) == here for frames in read_at.values()) > 1:
        return None
    try:
        tree = ast.parse(here[2])
    except SyntaxError:  # a part of a statement
        return None
    match tree.body:
        case [ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name))]:
            return name
    return None


def _is_of_data(expr: Any, read_at: Collection[str]) -> bool:
    return any(str(symbol) in read_at for symbol in getattr(expr, "free_symbols", ()))


def _of_symbol(trace: SymbolicTrace, root: Any, name: str, declared: Sizes | None) -> Iterator[Fact]:
    low, high = trace.ranges[root]
    sizes = declared or Sizes(low, high)
    least = max(FROM, sizes.low) if sizes.high is None else min(max(FROM, sizes.low), sizes.high)
    plain = [size for size in trace.of(root) if size.form == root]
    yield {
        "fact": "range",
        "name": name,
        "dims": dims_of(plain),
        "range": [least, sizes.high],
        "step": sizes.step,
        "smaller": sizes.low if sizes.low < least else None,
        "tried": None,
        "memory": None,
    }
    if low > FROM and (sizes.low == low or (root, "low") in trace.bounds):
        yield from _because({"range": [low, None]}, trace.why_narrowed(root, "low"))
    if high is not None and (sizes.high == high or (root, "high") in trace.bounds):
        yield from _because({"range": [None, high]}, trace.why_narrowed(root, "high"))
    yield from _equal(trace, root)
    for condition in trace.conditions:
        if condition.multiple and condition.multiple[0] == root:
            yield from _because({"multiple": condition.multiple[1]}, condition.frames)


def _because(what: Mapping[str, Any], frames: Iterable[Frame]) -> Iterator[Fact]:
    if place := place_of_frames(frames):
        yield {"fact": "because", **what, "place": place}


def _equal(trace: SymbolicTrace, root: Any) -> Iterator[Fact]:
    """The lines that made one symbol of several."""
    plain = (size for size in trace.of(root) if size.form == root)
    places = {tuple(place) for size in plain if (place := _why_equal(trace, size, root))}
    yield from ({"fact": "equal", "place": list(place)} for place in sorted(places))


def _why_equal(trace: SymbolicTrace, size: InputSize, root: Any) -> list[Any] | None:
    return place_of_frames(trace.why_equal(size)) if size.symbol != root else None


def _constant(size: InputSize) -> Fact:
    value = size.sample if size.special else int(size.form)
    return {"dim": list(size.place), "value": value, "special": size.special}


def plain_facts(model: Any, inputs: Inputs) -> list[Fact]:
    """The inputs that are no tensors, of which an export makes constants."""
    return [{"fact": "argument", "name": name, "value": repr(value)} for name, value in plain_inputs(model, inputs)]


# Name the free sizes of a trace, and write declarations.


_LENGTH = (2, 3)  # so many dims have tokens, and rows of features


def names(
    trace: SymbolicTrace,
    given: Mapping[tuple[str, int], str] | None = None,
    meaning: Mapping[Any, str] | None = None,
) -> dict[Any, str]:
    """A name for every free symbol: the declared one or one of those given for a dim of a tensor, else what its use
    means, else by its place. Without `meaning`, first dims are taken for batches."""
    found: dict[Any, str] = {}
    for root in trace.roots():
        sizes = trace.of(root)
        known = ((given or {}).get(size.place) for size in sizes if size.form == root)
        name = next(filter(None, known), None) or _declared(root, sizes) or _meant(trace, root, meaning)
        if all(size.form != root for size in sizes) and not name.startswith("_"):
            name = f"_{name}"  # no dim has this size: they are computed from it
        taken = sum(re.fullmatch(rf"{name}(_\d+)?", other) is not None for other in found.values())
        found[root] = f"{name}_{taken + 1}" if taken else name
    return found


def _declared(root: Any, sizes: list[InputSize]) -> str | None:
    declared: list[Any] = [size.tensor.asked().get(size.dim) for size in sizes if size.form == root]
    named = (str(what.__name__) for what in declared if hasattr(what, "__name__"))
    return next((name for name in named if name.isidentifier()), None)


def _meant(trace: SymbolicTrace, root: Any, meaning: Mapping[Any, str] | None) -> str:
    if meaning and root in meaning:
        return meaning[root]
    sizes = trace.of(root)
    plain = [size for size in sizes if size.form == root] or sizes
    if meaning is None and any(size.dim == 0 and size.tensor.value.dim() > 1 for size in plain):
        return "batch"
    if any(_is_length(trace, root, size, meaning) for size in plain):
        return "length"
    return neutral_name(plain[0])


def _is_length(trace: SymbolicTrace, root: Any, size: InputSize, meaning: Mapping[Any, str] | None) -> bool:
    """The only dim beside the batch that is free, of tokens or of rows of features."""
    tensor = size.tensor
    rank = tensor.value.dim()
    if rank not in _LENGTH or (rank == 2 and tensor.value.is_floating_point()):  # noqa: PLR2004 - or features
        return False
    beside = [other for other in trace.sizes if other.tensor is tensor and not other.fixed and other.form != root]
    batch = (
        beside[0].dim == 0 if meaning is None and beside else [(meaning or {}).get(o.form) for o in beside] == ["batch"]
    )
    return size.dim > 0 and len(beside) == 1 and batch


def neutral_name(size: InputSize) -> str:
    """`batch_a_1` for dim 1 of `batch['a']`."""
    return re.sub(r"[\W_]+", "_", f"{size.tensor.label}_{size.dim}").strip("_")


def declared_as(what: Any) -> str:
    """`batch`, or `Dim.AUTO`."""
    return str(what.__name__) if hasattr(what, "__name__") else f"Dim.{hint(what)}"
