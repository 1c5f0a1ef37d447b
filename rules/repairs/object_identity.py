"""Questions for an exact type become questions for a class, and what the module shares is asked once, in `__init__`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, InInit, ModuleImport, Repair, Rewrite
from exportlint.rewriting.numbers.numbers_of_tensors import as_owner
from exportlint.rewriting.source.assigned_names import every, only_value

if TYPE_CHECKING:
    from collections.abc import Iterator


_TORCH = ModuleImport("torch")
_SHARED = frozenset({"BadId", "BadIdModule", "BadDataPtr", "BadDataPtrParameter", "BadStoragePtr", "BadIsSetTo"})


class ClassInPlaceOfIdentity(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case, node:
            case "BadTypeIs", cst.Comparison():
                yield from self._class_asked(node)
            case "BadTypeKey", cst.Call(args=[cst.Arg(value=key), *_]):
                yield from self._named(key, "torch.Tensor")
            case "BadTypeKey", cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=key))]):
                yield from self._named(key, "torch.Tensor")
            case "BadTypeName", cst.Attribute():
                yield from self._named(node, '"Tensor"')
            case "BadTypeText", cst.Call(args=[cst.Arg(value=given)]) if self.code.name(node.func) == "builtins.str":
                yield from self._named(given, "torch.Tensor")
            case "BadTypeText", cst.BaseExpression():
                yield from self._named(node, "torch.Tensor")
            case "BadStorageSize", cst.Call():
                yield from self._sized(node)
            case _, cst.Call() if case in _SHARED:
                yield from self._asked_in_init(node)

    def _named(self, node: cst.BaseExpression, text: str) -> Iterator[Rewrite]:
        """A tensor's type is Tensor, as long as it is not a Parameter."""
        yield Rewrite("name the class", (Change(node, text), _TORCH))

    def _class_asked(self, node: cst.Comparison) -> Iterator[Rewrite]:
        """`type(x) is torch.Tensor` as `isinstance(x, torch.Tensor)`."""
        asked = only_value(self.code, node.left) if isinstance(node.left, cst.Name) else node.left
        match asked:
            case cst.Call(func=cst.Name(value="type"), args=[cst.Arg(value=tensor)]):
                pass
            case cst.Attribute(value=tensor, attr=cst.Name(value="__class__")):
                pass
            case _:
                return
        target = node.comparisons[0]
        classes = self.source(target.comparator)
        if isinstance(target.comparator, cst.List | cst.Set):
            classes = f"({classes[1:-1].rstrip(', ')},)"
        elif isinstance(target.comparator, cst.Tuple) and not classes.startswith("("):
            classes = f"({classes})"
        negated = isinstance(target.operator, cst.IsNot | cst.NotEqual | cst.NotIn)
        text = f"{'not ' if negated else ''}isinstance({self.source(tensor)}, {classes})"
        yield Rewrite("ask with `isinstance`", (Change(node, text),))

    def _sized(self, node: cst.Call) -> Iterator[Rewrite]:
        match node.func:
            case cst.Attribute(value=cst.Call(func=cst.Attribute(value=tensor)), attr=cst.Name(value=method)):
                owner = as_owner(self.code, tensor)
                text = f"{owner}.numel() * {owner}.element_size()" if method == "nbytes" else f"{owner}.numel()"
                inside = isinstance(self.code.parent(node), cst.BinaryOperation) and " * " in text
                yield Rewrite("compute the size", (Change(node, f"({text})" if inside else text),))

    def _asked_in_init(self, node: cst.Call) -> Iterator[Rewrite]:
        """`self.a.weight.data_ptr() == self.b.weight.data_ptr()`, which is the same in every call."""
        above = self.code.parent(node)
        whole = self.code.parent(above) if isinstance(above, cst.ComparisonTarget) else above
        if not isinstance(whole, cst.Comparison) or len(whole.comparisons) != 1:
            return
        sides = (whole.left, whole.comparisons[0].comparator)
        paths = [_path(side) for side in sides]
        if all(paths):
            name = f"self.{paths[0]}_is_{paths[1]}"
            changes = (InInit(f"{name} = {self.source(whole)}"), Change(whole, name))
            yield Rewrite("ask once, in `__init__`", changes)


def _path(side: cst.BaseExpression) -> str:
    """`a_weight` of `self.a.weight.data_ptr()` and of `id(self.a.weight)`; "" where something else takes part."""
    names = [one.value for one in every(side) if isinstance(one, cst.Name)]
    parts = any(isinstance(one, cst.Subscript) for one in every(side))
    words = [name for name in names if name not in {"self", "id", "data_ptr", "untyped_storage", "storage"}]
    return "" if "self" not in names or names.count("self") != 1 or parts or not words else "_".join(words)
