"""Change the tensors of a structure that holds objects, whether pytree knows their classes or not."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from collections.abc import Callable


def changed_inside(value: Any, change: Callable[[Any], Any]) -> Any:
    """What `change` gives for the structure, where dictionaries of their attributes stand for objects, and then stand
    in copies of them."""
    return _closed(value, change(_opened(value)))


def _opened(value: Any) -> Any:
    return pytree.tree_map(lambda leaf: _opened(_held(leaf)) if _is_object(leaf) else leaf, value, is_leaf=_is_object)


def _closed(value: Any, changed: Any) -> Any:
    return pytree.tree_map(
        lambda leaf, now: _with(leaf, _closed(_held(leaf), now)) if _is_object(leaf) else now,
        value,
        changed,
        is_leaf=_is_object,
    )


def _held(value: Any) -> dict[str, Any]:
    """Its attributes, those of `__slots__` included."""
    slots = (name for cls in type(value).__mro__ for name in _slots(cls))
    return {**getattr(value, "__dict__", {}), **{one: getattr(value, one) for one in slots if hasattr(value, one)}}


def _slots(cls: type) -> tuple[str, ...]:
    slots = vars(cls).get("__slots__", ())
    return (slots,) if isinstance(slots, str) else tuple(one for one in slots if not one.startswith("__"))


def _with(value: Any, attributes: dict[str, Any]) -> Any:
    twin = copy.copy(value)
    for name, attribute in attributes.items():
        object.__setattr__(twin, name, attribute)
    return twin


def _is_object(value: Any) -> bool:
    """Is it of a class that somebody may register with pytree, and holds its parts as attributes?"""
    known = (torch.Tensor, torch.nn.Module, type, tuple, list, dict)
    is_torch = type(value).__module__.partition(".")[0] == "torch"
    has_attributes = hasattr(value, "__dict__") or any(map(_slots, type(value).__mro__))
    return has_attributes and not isinstance(value, known) and not is_torch and not callable(value)
