"""The result of a conversion is written in place, on torch before 2.7.

Why: `.to`, `.float()`, `.long()` and their like may give back the tensor they were called on or a new one. Up to
torch 2.6 the decomposition that every lowering starts with froze the storage of their results and stopped at the
first write ("cannot mutate tensors with frozen storage"). Newer versions accept it.

Instead: write into a clone, or compute the value.

    ids = input_ids.to(torch.int32).clone()
    ids[:, 0] = bos
"""

from __future__ import annotations

import ast
from typing import ClassVar

import libcst as cst

from exportlint import Case, Code, Kind, Rule, called, flat_targets, written_in_place

_CONVERSIONS = frozenset(
    {"to", "type", "type_as", "float", "double", "half", "bfloat16", "long", "int", "short", "bool"}
)
_WRITES = frozenset({"out", "inplace"})
_VIEWS = frozenset(
    {"view", "reshape", "unsqueeze", "squeeze", "transpose", "permute", "t", "flatten", "select", "narrow"}
)


class FrozenStorageWrite(Rule):
    words = r"\.(to|type|type_as|float|double|half|bfloat16|long|int|short|bool)\("
    torch_says = (r"cannot mutate tensors with frozen storage",)
    cases: ClassVar = {
        "BadConvertedIds": Case(
            "`{code}` writes in place into the result of a conversion",
            "write into a clone: `.clone()` before the write",
        )
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is something converted, and something written in place?"""
        sketch = code.sketch
        words = {word.arg for call in sketch.calls for word in call.node.keywords}
        writes = bool(_WRITES & words) or any(method.endswith("_") for method in sketch.methods)
        items = any(isinstance(target, ast.Subscript) for target in sketch.targets())
        return not _CONVERSIONS.isdisjoint(sketch.methods) and (
            writes or items or any(True for _ in sketch.nodes(ast.AugAssign))
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
        """Is this the result of a conversion, or a view of one?"""
        match node:
            case cst.Name(value=name):
                return name in self._converted
            case cst.Subscript(value=inner):
                return self._is_frozen(inner)
            case cst.Call(func=cst.Attribute(value=inner)):
                method = called(node)
                return method in _CONVERSIONS or (method in _VIEWS and self._is_frozen(inner))
        return False
