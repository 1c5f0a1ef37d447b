"""The result of a conversion is written in place, on torch before 2.7.

Why: `.to`, `.float()`, `.long()` and their like may give back the tensor they were called on or a new one. Up to
torch 2.6 the decomposition that every lowering starts with froze the storage of their results and stopped at the
first write ("cannot mutate tensors with frozen storage"). Newer versions accept it. What a tokenizer gives counts as
converted, too, once it was moved: `tokenizer(text, return_tensors="pt").to(device).input_ids`.

Instead: write into a clone, or compute the value.

    ids = input_ids.to(torch.int32).clone()
    ids[:, 0] = bos

The rewrite is for torch before 2.7: later ones take it as it is, and there a copy costs memory for nothing.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Kind, Rule, Value, called, flat_targets, last_name, walked, written_in_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Sketch


_CONVERSIONS = frozenset(
    {"to", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "short", "bool"}
)
_WRITES = frozenset({"out", "inplace"})
_VIEWS = frozenset(
    {"view", "reshape", "unsqueeze", "squeeze", "transpose", "permute", "t", "flatten", "select", "narrow"}
)


class FrozenStorageWrite(Rule):
    mended_by = ("cloned-first",)
    torch_says = (r"cannot mutate tensors with frozen storage",)
    cases: ClassVar = {
        "BadConvertedIds": Case(
            "`{code}` writes in place into the result of a conversion",
            "write into a clone: `.clone()` before the write",
        )
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is something written in place that may come out of a conversion?"""
        sketch = code.sketch
        if _CONVERSIONS.isdisjoint(sketch.methods):
            return False
        made = (node for node in sketch.nodes(ast.Assign) if _may_be_converted(node.value))
        names = {target.id for node in made for target in node.targets if isinstance(target, ast.Name)}
        return any(
            _may_be_converted(node) or (isinstance(node, ast.Name) and node.id in names) for node in _written(sketch)
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._converted: set[str] = set()

    def leave_Assign(self, original_node: cst.Assign) -> None:
        self._check(original_node)
        frozen = self._is_frozen(original_node.value)
        for target in flat_targets(original_node):
            if isinstance(target, cst.Name):
                (self._converted.add if frozen else self._converted.discard)(target.value)

    def leave_AugAssign(self, original_node: cst.AugAssign) -> None:
        self._check(original_node)

    def leave_Call(self, original_node: cst.Call) -> None:
        self._check(original_node)

    def _check(self, node: cst.CSTNode) -> None:
        for written in written_in_place(node):
            value = self.code.value(written)
            if value.kind in {Kind.TENSOR, Kind.UNKNOWN} and self._is_frozen(written):
                self.report(node, "BadConvertedIds", because=value)
                return

    def _is_frozen(self, node: cst.CSTNode) -> bool:
        """Is this the result of a conversion, a view of one, or an attribute of a converted object of a library?"""
        match node:
            case cst.Name(value=name):
                return name in self._converted
            case cst.Subscript(value=inner) | cst.DictComp(value=inner):
                return self._is_frozen(inner)
            case cst.Attribute(value=inner):
                return _moves_tensors(self.code.value(inner)) and self._is_frozen(inner)
            case cst.Call(func=cst.Attribute(value=inner)):
                method = called(node)
                return method in _CONVERSIONS or (method in _VIEWS and self._is_frozen(inner))
        return False


def _moves_tensors(value: Value) -> bool:
    """Does the `to` of this object convert tensors that it holds? That of a library's tokens does."""
    if value.kind is not Kind.INSTANCE or value.cls is None:
        return value.kind is Kind.UNKNOWN
    method = value.cls.method("to")
    calls = (node for node in walked(method.node) if isinstance(node, ast.Call)) if method else ()
    return "to" in {last_name(call.func) for call in calls}


def _written(sketch: Sketch) -> Iterator[ast.expr]:
    """What may be written in place, items taken off."""
    yield from (_whole(target) for target in sketch.targets() if isinstance(target, ast.Subscript))
    yield from (_whole(node.target) for node in sketch.nodes(ast.AugAssign))
    for call in sketch.calls:
        if call.owner and call.method.endswith("_"):
            yield _whole(call.owner)
        if _WRITES & {word.arg for word in call.node.keywords}:
            yield from map(_whole, call.arguments)


def _may_be_converted(node: ast.expr) -> bool:
    """Is it a conversion, a view of something, an item or an attribute?"""
    whole = _whole(node)
    is_part = isinstance(whole, ast.DictComp | ast.Attribute) or (whole is not node and isinstance(whole, ast.Name))
    return is_part or (isinstance(whole, ast.Call) and last_name(whole.func) in _CONVERSIONS | _VIEWS)


def _whole(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Subscript):
        node = node.value
    return node
