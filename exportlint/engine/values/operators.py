"""What operators give, by what their operands are."""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import SCALAR, SIZE, TENSOR, UNKNOWN, Kind, Source, Value, join

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


_NUMBERS = {Kind.UNBACKED, Kind.SIZE, Kind.SCALAR}
_PYTHON = {Kind.SCALAR, Kind.CONFIG}


def combine(left: Value, right: Value, op: ast.operator) -> Value:
    """Arithmetic and bitwise operators."""
    sides = (left, right)
    if tensors := [v for v in sides if v.kind is Kind.TENSOR]:
        return _of_tensors(tensors, op)
    if containers := [v for v in sides if v.kind in {Kind.CONTAINER, Kind.SHAPE}]:
        return replace(containers[0], items=None, element=joined(v.element for v in containers), source=None)
    if number := next((v for v in sides if v.kind is Kind.UNBACKED), None):
        return number if all(v.kind in _NUMBERS for v in sides) else number.doubted()
    if any(v.kind is Kind.SIZE for v in sides):
        return SIZE if all(v.kind is Kind.SIZE or v.kind in _PYTHON for v in sides) else UNKNOWN
    if any(v.kind is Kind.ARRAY for v in sides):
        return Value(Kind.ARRAY)
    return SCALAR if all(v.kind in _PYTHON for v in sides) else UNKNOWN


def _of_tensors(tensors: Sequence[Value], op: ast.operator) -> Value:
    constant = all(t.source is Source.CONSTANT for t in tensors)
    logical = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
    return replace(
        TENSOR,
        source=Source.CONSTANT if constant else Source.COMPUTED,
        certain=any(t.certain for t in tensors),
        boolean=logical and any(t.boolean for t in tensors),
        unbacked=any(t.unbacked for t in tensors),
        trail=tensors[0].trail,
    )


def compare(values: Sequence[Value]) -> Value:
    """`<`, `==` and the like. A tensor compared with text is compared as a Python object."""
    text = any(v.kind is Kind.SCALAR and v.container == "str" for v in values)
    for kind in (Kind.TENSOR, Kind.UNBACKED, Kind.SIZE, Kind.ARRAY):
        if found := [v for v in values if v.kind is kind]:
            certain = any(v.certain for v in found) and not text
            first = replace(found[0], certain=certain, name=None, on_self=False)
            return _mask(first, found) if kind is Kind.TENSOR else first
    return replace(SCALAR, container="bool")


def _mask(first: Value, tensors: Sequence[Value]) -> Value:
    source = first.source if first.source is Source.CONSTANT else Source.COMPUTED
    return replace(first, boolean=True, source=source, unbacked=any(t.unbacked for t in tensors))


def joined(values: Iterable[Value | None]) -> Value | None:
    """What holds for each of several values; None where there is none."""
    whole: Value | None = None
    for value in values:
        if value is not None:
            whole = value if whole is None else join(whole, value)
    return whole
