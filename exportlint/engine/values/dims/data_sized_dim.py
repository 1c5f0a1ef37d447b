"""Where the dim stands whose size depends on data (the rows of `x[mask]`), after a method or an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.engine.values.dims.needs import extent_of
from exportlint.engine.values.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from exportlint.engine.values.abstract_value import Value


_WORDS = str.split
_SAME = frozenset(
    _WORDS(
        "float double half long int bool to type_as clone detach contiguous abs neg exp log sqrt sigmoid relu tanh add "
        "sub mul div clamp round floor ceil squeeze_ sort flip roll masked_fill cpu cuda bfloat16 requires_grad_ data "
        "expand expand_as view_as real imag softmax log_softmax cumsum masked_fill_ gelu silu normalize dropout "
        "layer_norm linear zeros_like ones_like rand_like randn_like empty_like full_like"
    )
)
_REDUCES = frozenset(_WORDS("sum mean prod amax amin argmax argmin any all logsumexp select"))

FOLLOWED = _SAME | _REDUCES | {"t", "T", "unsqueeze", "squeeze", "transpose", "swapaxes", "permute", "flatten"}


def after_method(at: int, name: str, args: Sequence[Value], keywords: Mapping[str, Value]) -> int | None:
    """The place after `x.name(*args)`; None where it is not known, or the dim is gone.

    >>> after_method(0, "clone", (), {}), after_method(0, "numpy", (), {})
    (0, None)
    """
    if name in _SAME:
        return at
    if name in _REDUCES:
        return _reduced(at, args, keywords)
    match name:
        case "t" | "T":
            return 1 - at if at < 2 else None  # noqa: PLR2004 - a matrix
        case "unsqueeze":
            place = _number(args, keywords)
            return None if place is None else at + 1 if 0 <= place <= at else at
        case "squeeze":
            place = _number(args, keywords)
            return at if place is None or place < 0 or place > at else at - 1 if place < at else None
        case "transpose" | "swapaxes":
            return _swapped(at, [_integer(value) for value in args])
        case "permute":
            order = [_integer(value) for value in _parts(args)]
            return order.index(at) if at in order else None
        case "flatten":
            start = _number(args, keywords)
            return min(at, start or 0) if start is None or start >= 0 else at
    return None


def of_view(sizes: Sequence[Value]) -> int | None:
    """The place in `x.view(*sizes)` of something that has such a dim: what is left to torch, or was read."""
    parts = _parts(sizes)
    left = [i for i, value in enumerate(parts) if _integer(value) == -1]
    return next(iter(left or [i for i, value in enumerate(parts) if value.is_unbacked]), None)


def _reduced(at: int, args: Sequence[Value], keywords: Mapping[str, Value]) -> int | None:
    place = _number(args, keywords)
    keep = keywords.get("keepdim") or (args[1] if len(args) > 1 else None)
    if place is None or place == at:
        return None
    return at if (keep is not None and keep.truth) or place < 0 or place > at else at - 1


def _swapped(at: int, places: list[int | None]) -> int | None:
    """Places that are counted from the right are not known here."""
    if len(places) != 2 or any(place is None or place < 0 for place in places):  # noqa: PLR2004 - of two dims
        return None
    return places[1 - places.index(at)] if at in places else at


def _number(args: Sequence[Value], keywords: Mapping[str, Value]) -> int | None:
    given = args[0] if args else keywords.get("dim") or keywords.get("start_dim")
    return _integer(given) if given is not None else None


def _integer(value: Value) -> int | None:
    found = extent_of(value)
    return found.number if found else None


def _parts(args: Sequence[Value]) -> Sequence[Value]:
    """Several numbers, given one by one or as one tuple."""
    return args[0].items if len(args) == 1 and args[0].kind is Kind.CONTAINER and args[0].items is not None else args
