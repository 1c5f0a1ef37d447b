"""One place along a dim, at a number that data gives: selected by the tensor that holds the number."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_owner, as_whole_tensor
from exportlint.rewriting.source.assigned_names import name_set_to, reads
from exportlint.rule.editing.repair import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


def selected_places(code: Code, node: cst.BaseExpression, tensor: cst.BaseExpression) -> tuple[AnyChange, ...]:
    """`x[:, int(t)]` as `x.index_select(1, t.reshape(1)).squeeze(1)`, wherever the number goes; empty where it is used
    for anything else, or stands beside other indices."""
    text = as_whole_tensor(code, tensor)
    name = name_set_to(code, node)
    if name is None:
        change = _selected(code, node, text if isinstance(tensor, cst.Name | cst.Call) else f"({text})")
        return (change,) if change else ()
    changes = [_selected(code, one, name.value) for one in reads(code, name)]
    if not changes or any(change is None for change in changes):
        return ()
    return (Change(node, text), *(change for change in changes if change))


def _selected(code: Code, index: cst.BaseExpression, text: str) -> Change | None:
    """In the place of the subscript whose index it is."""
    element = code.parent(code.parent(index) or index)
    subscript = code.parent(element) if element is not None else None
    match subscript:
        case cst.Subscript(value=owner, slice=elements) if code.value(owner).is_tensor:
            dim = _dim([one.slice for one in elements], index)
            written = isinstance(code.parent(subscript), cst.AssignTarget | cst.AugAssign | cst.Del)
            if dim is not None and not written:
                selected = f"index_select({dim}, {text}.reshape(1)).squeeze({dim})"
                return Change(subscript, f"{as_owner(code, owner)}.{selected}")
    return None


def _dim(slices: Sequence[cst.BaseSlice], index: cst.BaseExpression) -> int | None:
    """Which dim the index is for; None where others are taken, too."""
    places = [number for number, one in enumerate(slices) if isinstance(one, cst.Index) and one.value is index]
    rest = [one for number, one in enumerate(slices) if number not in places]
    dots = [number for number, one in enumerate(slices) if _is_dots(one)]
    if len(places) != 1 or len(dots) > 1 or not all(_is_whole(one) or _is_dots(one) for one in rest):
        return None
    return places[0] - len(slices) if dots and dots[0] < places[0] else places[0]


def _is_dots(one: cst.BaseSlice) -> bool:
    return isinstance(one, cst.Index) and isinstance(one.value, cst.Ellipsis)


def _is_whole(one: cst.BaseSlice) -> bool:
    """`:`"""
    return isinstance(one, cst.Slice) and one.lower is None and one.upper is None and one.step is None
