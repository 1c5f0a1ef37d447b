"""What operators give, by what their operands are."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.values import extents, shapes
from exportlint.engine.values.abstract_value import (
    UNBACKED,
    UNKNOWN,
    Array,
    Container,
    Kind,
    Scalar,
    Shape,
    Source,
    Tensor,
    Value,
    exactly,
    join,
    join_all,
    sized,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from exportlint.engine.values.abstract_value import Possibility
    from exportlint.engine.values.extents import Dims, Extent


_NUMBERS = {Kind.UNBACKED, Kind.SIZE, Kind.SCALAR}
_PYTHON = {Kind.SCALAR, Kind.CONFIG}
_LARGEST = 10**12
_BOOL = exactly(Scalar("bool"))


def combine(left: Value, right: Value, op: ast.operator) -> Value:
    """Arithmetic and bitwise operators."""
    whole = join_all(_combined(a, b, op) for a in left.present for b in right.present) or UNKNOWN
    trail = next((side.trail for side in (left, right) if side.may_be_data and side.trail), ())
    return whole.with_trail(trail) if whole.may_be_data else whole


def _combined(left: Possibility, right: Possibility, op: ast.operator) -> Value:
    sides = (left, right)
    kinds = {side.kind for side in sides}
    if tensors := [side for side in sides if isinstance(side, Tensor)]:
        return _of_tensors(tensors, op).but(dims=_dims(left, right, op))
    if containers := [side for side in sides if isinstance(side, Container | Shape)]:
        first = containers[0]
        if isinstance(first, Shape):
            return exactly(first)
        element = join_all(exactly(side).element for side in containers)
        return exactly(Container(first.container, element, on_self=first.on_self))
    if Kind.UNBACKED in kinds:
        return UNBACKED if kinds <= _NUMBERS else UNBACKED.doubted()
    if arrays := [side for side in sides if isinstance(side, Array)]:
        return exactly(Array(on_self=any(a.on_self for a in arrays)))
    if Kind.SIZE in kinds:
        return sized(_extent(left, right, op)) if kinds <= _PYTHON | {Kind.SIZE} else UNKNOWN
    return _of_constants(left, right, op) if kinds <= _PYTHON else UNKNOWN


def _dims(left: Possibility, right: Possibility, op: ast.operator) -> Dims | None:
    sides = [side.dims for side in (left, right) if isinstance(side, Tensor)]
    if len(sides) == 1:
        plain = all(side.kind in _NUMBERS for side in (left, right) if not isinstance(side, Tensor))
        return sides[0] if plain else None
    effect = shapes.matmul(*sides) if isinstance(op, ast.MatMult) else shapes.broadcast(sides)
    return effect.dims


_ARITHMETIC: dict[type[ast.operator], Callable[[Extent, Extent], Extent | None]] = {
    ast.Add: extents.plus,
    ast.Sub: lambda a, b: extents.plus(a, b, -1),
    ast.Mult: extents.times,
    ast.FloorDiv: extents.divided,
    ast.Mod: extents.remainder,
}


def _extent(left: Possibility, right: Possibility, op: ast.operator) -> Extent | None:
    a, b = shapes.extent_of(exactly(left)), shapes.extent_of(exactly(right))
    compute = _ARITHMETIC.get(type(op))
    return compute(a, b) if compute is not None and a is not None and b is not None else None


def _of_constants(left: Possibility, right: Possibility, op: ast.operator) -> Value:
    """Of two Python values; whole numbers stay known."""
    found = _extent(left, right, op)
    if found is None or found.number is None or abs(found.number) > _LARGEST:
        return exactly(Scalar())
    return exactly(Scalar("int", bool(found.number), str(found.number)))


def _of_tensors(tensors: Sequence[Tensor], op: ast.operator) -> Value:
    constant = all(t.source is Source.CONSTANT for t in tensors)
    logical = isinstance(op, ast.BitAnd | ast.BitOr | ast.BitXor)
    source = Source.CONSTANT if constant else Source.COMPUTED
    of = tensors[:1] if isinstance(op, ast.MatMult) else tensors  # the rows of a product are those of the left side
    return exactly(Tensor(source, logical and any(t.boolean for t in tensors), _data_dim(of)))


def compare(values: Sequence[Value], op: ast.cmpop | None = None) -> Value:
    """`<`, `==` and the like. A tensor compared with text is compared as a Python object. `op`: the only operator."""
    if op is not None and (truth := _settled(values[0], values[1], op)) is not None:
        return exactly(Scalar("bool", truth))
    text = any(v.kind is Kind.SCALAR and v.container == "str" for v in values)
    for kind in (Kind.TENSOR, Kind.UNBACKED, Kind.SIZE, Kind.ARRAY):
        if found := [v for v in values if v.kind is kind]:
            whole = _mask(values, found) if kind is Kind.TENSOR else exactly(found[0].lead).but(extent=None)
            certain = any(v.certain for v in found) and not text
            other = UNKNOWN if any(v.only(Kind.UNKNOWN) for v in found) else _BOOL
            return (whole if certain else join(whole, other)).with_trail(found[0].trail)
    return _BOOL


def _settled(left: Value, right: Value, op: ast.cmpop) -> bool | None:
    """What the comparison of two constants, or of sizes, gives for every size that is declared."""
    if not left.certain or not right.certain:
        return None
    match left.lead, right.lead:
        case Scalar(container="str", name=str(a)), Scalar(container="str", name=str(b)):
            return _equality(a == b, op)
        case Shape() | Container(), Shape() | Container() if left.items is not None and right.items is not None:
            return _same_sizes(left.items, right.items, op)
    one, other = shapes.extent_of(left), shapes.extent_of(right)
    if one is None or other is None:
        return None
    return _order(one, other, op)


def _same_sizes(left: tuple[Value, ...], right: tuple[Value, ...], op: ast.cmpop) -> bool | None:
    if len(left) != len(right) or not isinstance(op, ast.Eq | ast.NotEq):
        return None
    pairs = [(shapes.extent_of(a), shapes.extent_of(b)) for a, b in zip(left, right, strict=True)]
    answers = [extents.equal(a, b) if a is not None and b is not None else None for a, b in pairs]
    same = False if False in answers else None if None in answers else True
    return _equality(same, op)


def _equality(same: bool | None, op: ast.cmpop) -> bool | None:
    match op:
        case ast.Eq():
            return same
        case ast.NotEq():
            return None if same is None else not same
    return None


def _order(a: Extent, b: Extent, op: ast.cmpop) -> bool | None:
    match op:
        case ast.Lt():
            return extents.less(a, b)
        case ast.Gt():
            return extents.less(b, a)
        case ast.GtE():
            return None if (below := extents.less(a, b)) is None else not below
        case ast.LtE():
            return None if (above := extents.less(b, a)) is None else not above
    return _equality(extents.equal(a, b), op)


def _mask(values: Sequence[Value], tensors: Sequence[Value]) -> Value:
    constant = tensors[0].source is Source.CONSTANT
    source = Source.CONSTANT if constant else Source.COMPUTED
    plain = all(value.kind in _NUMBERS for value in values if not value.is_tensor)
    dims = shapes.broadcast(shapes.dims_of(t) for t in tensors).dims if plain else None
    return exactly(Tensor(source, boolean=True, data_dim=_data_dim(tensors), dims=dims))


def _data_dim(tensors: Sequence[Value | Tensor]) -> int | None:
    return next((tensor.data_dim for tensor in tensors if tensor.data_dim is not None), None)
