"""What holds where two paths meet: the possibilities of both, like ones made one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from exportlint.engine.values.abstract_value import (
    Array,
    Class,
    ConfigObject,
    Container,
    Function,
    Instance,
    Module,
    Scalar,
    Shape,
    Size,
    Super,
    Tensor,
    Unknown,
    Value,
)
from exportlint.engine.values.dims import extents
from exportlint.engine.values.kinds import Source

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.engine.values.abstract_value import Possibility
    from exportlint.engine.values.dims.needs import Dims

# More than so many objects, functions or classes that an expression may be are not followed one by one.
_MOST = 4


def join(a: Value, b: Value) -> Value:
    """What holds where two paths meet: what it may be on either."""
    trail = a.trail if a.trail and (a.may_be_data or not b.trail) else b.trail
    if a.options == b.options:
        return a if a.trail == trail else Value(a.options, trail)
    return Value(_united(a.options, b.options), trail)


def _united(a: tuple[Possibility, ...], b: tuple[Possibility, ...]) -> tuple[Possibility, ...]:
    found = list(a)
    for option in b:
        if option not in found:
            merged = ((i, _merge(other, option)) for i, other in enumerate(found))
            at, whole = next(((i, one) for i, one in merged if one is not None), (len(found), option))
            found[at : at + 1] = [whole]
    followed = [option for option in found if isinstance(option, Module | Instance | Class | Function)]
    if len(followed) <= _MOST:
        return tuple(found)
    return tuple(option for option in found if option not in followed) + _united_kinds(followed)


def _united_kinds(options: Sequence[Possibility]) -> tuple[Possibility, ...]:
    return tuple({option.kind: type(option)() for option in options if not isinstance(option, Super)}.values())


def _merge(a: Possibility, b: Possibility) -> Possibility | None:
    """One possibility for two of a kind; None for two that are followed apart."""
    match a, b:
        case Tensor(), Tensor():
            source = a.source if a.source is b.source else Source.COMPUTED
            dims = _joined_dims(a.dims, b.dims)
            return Tensor(
                source, a.boolean and b.boolean, _joined_place(a.data_dim, b.data_dim), a.on_self or b.on_self, dims
            )
        case Container(), Container():
            return _merged_containers(a, b)
        case Shape(), Shape():
            return Shape(_joined_place(a.data_dim, b.data_dim), _joined_dims(a.dims, b.dims))
        case Size(), Size():
            return Size(extents.joined(a.extent, b.extent))
        case Scalar(), Scalar():
            return Scalar(
                _same(a.container, b.container),
                a.truth if a.truth is b.truth else None,
                _same(a.name, b.name),
                a.on_self or b.on_self,
            )
        case ConfigObject(), ConfigObject():
            return ConfigObject(_same(a.name, b.name), a.on_self or b.on_self)
        case Array(), Array():
            return Array(_same(a.name, b.name), a.on_self or b.on_self)
        case Unknown(), Unknown():
            owner = a.owner if a.owner == b.owner else None
            return Unknown(_same(a.name, b.name), owner, a.on_self or b.on_self)
    return _merged_objects(a, b)


def _merged_objects(a: Possibility, b: Possibility) -> Possibility | None:
    """Of two objects of one class, made in the same way."""
    match a, b:
        case Module(), Module() if a.cls is b.cls and a.name == b.name and a.made is b.made:
            return replace(
                a,
                element=_joined(a.element, b.element),
                items=_joined_items(a.items, b.items),
                fields=a.fields if a.fields == b.fields else (),
                source=a.source if a.source is b.source else None,
                on_self=a.on_self or b.on_self,
            )
        case Instance(), Instance() if a.cls is b.cls and a.name == b.name:
            fields = a.fields if a.fields == b.fields else ()
            given = a.source if a.source is b.source else None
            return Instance(a.cls, a.name, fields, given, a.on_self or b.on_self)
    return None


def _merged_containers(a: Container, b: Container) -> Container:
    return Container(
        _same(a.container, b.container),
        _joined(a.element, b.element),
        _joined_items(a.items, b.items),
        _joined_fields(a.fields, b.fields),
        a.source if a.source is b.source else None,
        a.unbacked or b.unbacked,
        a.on_self or b.on_self,
        _same(a.name, b.name),
    )


def _joined_place(a: int | None, b: int | None) -> int | None:
    """The place of the dim with a size from data that either has; the first where both have one."""
    return min((place for place in (a, b) if place is not None), default=None)


def _joined_dims(a: Dims | None, b: Dims | None) -> Dims | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return a if a == b else tuple(map(extents.joined, a, b))


def _joined(a: Value | None, b: Value | None) -> Value | None:
    return join(a, b) if a and b else a or b


def _joined_items(a: tuple[Value, ...] | None, b: tuple[Value, ...] | None) -> tuple[Value, ...] | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(join(x, y) for x, y in zip(a, b, strict=True))


def _joined_fields(a: tuple[tuple[str, Value], ...], b: tuple[tuple[str, Value], ...]) -> tuple[tuple[str, Value], ...]:
    """Of two dicts. A key that only one has is there wherever it is read without an error."""
    if a == b:
        return a
    others = dict(b)
    both = {name: join(value, others.pop(name)) if name in others else value for name, value in a}
    return (*both.items(), *others.items())


def _same(a: str | None, b: str | None) -> str | None:
    return a if a == b else None
