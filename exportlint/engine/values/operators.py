"""What operators give, by what their operands are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import (
    SIZE,
    UNBACKED,
    UNKNOWN,
    Array,
    Container,
    Scalar,
    Shape,
    Tensor,
    Value,
    exactly,
)
from exportlint.engine.values.joining import join
from exportlint.engine.values.kinds import Kind, Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from exportlint.engine.values.abstract_value import Possibility


_NUMBERS = {Kind.UNBACKED, Kind.SIZE, Kind.SCALAR}
_PYTHON = {Kind.SCALAR, Kind.CONFIG}
_BOOL = exactly(Scalar("bool"))


def combine(left: Value, right: Value, op: ast.operator) -> Value:
    """Arithmetic and bitwise operators."""
    whole = joined(_combined(a, b, op) for a in left.present for b in right.present) or UNKNOWN
    trail = next((side.trail for side in (left, right) if side.may_be_data and side.trail), ())
    return whole.with_trail(trail) if whole.may_be_data else whole


def _combined(left: Possibility, right: Possibility, op: ast.operator) -> Value:
    sides = (left, right)
    kinds = {side.kind for side in sides}
    if tensors := [side for side in sides if isinstance(side, Tensor)]:
        return _of_tensors(tensors, op)
    if containers := [side for side in sides if isinstance(side, Container | Shape)]:
        return _of_containers(containers)
    if Kind.UNBACKED in kinds:
        return UNBACKED if kinds <= _NUMBERS else UNBACKED.doubted()
    if arrays := [side for side in sides if isinstance(side, Array)]:
        return exactly(Array(on_self=any(a.on_self for a in arrays)))
    if Kind.SIZE in kinds:
        return SIZE if kinds <= _PYTHON | {Kind.SIZE} else UNKNOWN
    return exactly(Scalar()) if kinds <= _PYTHON else UNKNOWN


def _of_containers(containers: Sequence[Container | Shape]) -> Value:
    first = containers[0]
    if isinstance(first, Shape):
        return exactly(first)
    return exactly(Container(first.container, joined(c.element for c in containers), on_self=first.on_self))


def _of_tensors(tensors: Sequence[Tensor], op: ast.operator) -> Value:
    constant = all(t.source is Source.CONSTANT for t in tensors)
    logical = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
    source = Source.CONSTANT if constant else Source.COMPUTED
    return exactly(Tensor(source, logical and any(t.boolean for t in tensors), any(t.unbacked for t in tensors)))


def compare(values: Sequence[Value]) -> Value:
    """`<`, `==` and the like. A tensor compared with text is compared as a Python object."""
    text = any(v.kind is Kind.SCALAR and v.container == "str" for v in values)
    for kind in (Kind.TENSOR, Kind.UNBACKED, Kind.SIZE, Kind.ARRAY):
        if found := [v for v in values if v.kind is kind]:
            whole = _mask(found) if kind is Kind.TENSOR else exactly(found[0].lead)
            certain = any(v.certain for v in found) and not text
            other = UNKNOWN if any(v.only(Kind.UNKNOWN) for v in found) else _BOOL
            return (whole if certain else join(whole, other)).with_trail(found[0].trail)
    return _BOOL


def _mask(tensors: Sequence[Value]) -> Value:
    constant = tensors[0].source is Source.CONSTANT
    source = Source.CONSTANT if constant else Source.COMPUTED
    return exactly(Tensor(source, boolean=True, unbacked=any(t.unbacked for t in tensors)))


def each(value: Value, judge: Callable[[Possibility], Value]) -> Value:
    """What holds for each thing that the value may be, None aside."""
    if len(value.present) == 1:
        return judge(value.present[0])
    return joined(map(judge, value.present)) or UNKNOWN


def joined(values: Iterable[Value | None]) -> Value | None:
    """What holds for each of several values; None where there is none."""
    whole: Value | None = None
    for value in values:
        if value is not None:
            whole = value if whole is None else join(whole, value)
    return whole
