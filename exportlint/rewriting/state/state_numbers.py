"""Functions of Python for numbers, of state that is in tensors: `min(1.0, self.step / 10)`, `math.cos(self.step)`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

if TYPE_CHECKING:
    from exportlint.rewriting.state.state_as_names import StateAsNames


_MATH = frozenset({"exp", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "tanh", "floor", "ceil", "pow"})
_LIMITS = {"builtins.min": ("max", "minimum"), "builtins.max": ("min", "maximum")}
_TWO = 2


class TensorCalls(cst.CSTTransformer):
    """Puts functions of torch in their place; leaves other calls as they are."""

    def __init__(self, view: StateAsNames) -> None:
        super().__init__()
        self._view = view

    def concerns(self, node: cst.Call) -> bool:
        plain = not any(arg.keyword or arg.star for arg in node.args)
        return (
            plain
            and any(self._view.asks(arg.value) for arg in node.args)
            and (self._is_math(node) or self._limits(node))
        )

    def _is_math(self, node: cst.Call) -> bool:
        name = self._view.name(node.func) or ""
        return name.startswith("math.") and name.removeprefix("math.") in _MATH and len(node.args) == 1

    def _limits(self, node: cst.Call) -> bool:
        return (self._view.name(node.func) or "") in _LIMITS and len(node.args) == _TWO

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.Call:
        if not self.concerns(original_node):
            return updated_node
        name = self._view.name(original_node.func) or ""
        if name in _LIMITS:
            return self._limited(original_node, updated_node, *_LIMITS[name])
        return updated_node.with_changes(func=_torch(name.removeprefix("math.")))

    def _limited(self, original: cst.Call, updated: cst.Call, word: str, of_tensors: str) -> cst.Call:
        asks = [self._view.asks(arg.value) for arg in original.args]
        if all(asks):
            return updated.with_changes(func=_torch(of_tensors))
        tensor, number = updated.args if asks[0] else reversed(updated.args)
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        limit = cst.Arg(number.value, keyword=cst.Name(word), equal=equal)
        return updated.with_changes(func=_torch("clamp"), args=[cst.Arg(tensor.value), limit])


def _torch(name: str) -> cst.Attribute:
    return cst.Attribute(cst.Name("torch"), cst.Name(name))
