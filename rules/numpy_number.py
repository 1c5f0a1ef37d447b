"""A NumPy number or array decides something, or is a size, while forward runs.

Why: in strict mode Dynamo traces NumPy as if its numbers were tensors, also those that are made of lengths and
constants alone (`np.log2(x.shape[1])`, an array that `__init__` keeps). A Python branch on one is a branch on data,
`.item()` gives a number that Dynamo cannot put into the graph, and as a size it is one that torch does not know. A
number that the module keeps becomes a tensor without data: what is computed with it is lost, silently. Non-strict mode
runs NumPy as it is and exports all of this, unless the array was made from a tensor.

Instead: make it a Python number at once, which exports in both modes,

    levels = int(np.ceil(np.log2(x.shape[1])))     # or math.ceil(math.log2(…))

and keep Python numbers on the module: `self.area = int(np.prod(window))`, `self.strides = np.array(strides).tolist()`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Asked, Case, Instead, Kind, TruthRule, asked_for_truth, called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Code, Sketch, Value

_INT = Instead(
    "use the function of `math`, or make it a Python number first: `int(…)`, `float(…)`", shown_in="GoodMath"
)
_MATH = Instead("use the function of `math`, as in `math.prod(x.shape)`", shown_in="GoodMath")
_ON_SELF = Instead("keep Python numbers on the module: `int(…)` or `.tolist()` in `__init__`", shown_in="GoodIntInInit")
_BRANCHES = "`{code}` branches on a NumPy number"
_CONVERTED = {"builtins.float": "BadFloatOnSelf", "builtins.int": "BadIntOnSelf"}
_SIZED = frozenset({"view", "reshape", "expand", "repeat", "zeros", "ones", "full", "empty", "new_zeros", "new_ones"})


class NumpyNumber(TruthRule):
    mended_by = ("python-numbers", "decide-in-data", "loop-in-data", "numbers-stay-tensors", "templates")
    graph_breaks = ("GB0170", "GB0208")
    torch_says = (r"attempted to jump with NumpyNdarrayVariable",)
    cases: ClassVar = {
        "BadBranchOnNumber": Case(_BRANCHES, _MATH),
        "BadTernary": Case(_BRANCHES, _MATH),
        "BadBranchOnEntry": Case("`{code}` branches on an array that the module keeps", _ON_SELF),
        "BadItem": Case("`{code}` takes a number out of an array", "write `int(…)` around it instead of `.item()`"),
        "BadSizeOnSelf": Case("`{code}` is given a NumPy number as a size", _ON_SELF),
        "BadSizeInForward": Case("`{code}` is given a NumPy number as a size", _INT),
        "BadRangeOnSelf": Case("`{code}` counts with a NumPy number", _ON_SELF),
        "BadRangeInForward": Case("`{code}` counts with a NumPy number", _INT),
        "BadScaleOnSelf": Case("`{code}` computes with a NumPy number that the module keeps", _ON_SELF),
        "BadFloatOnSelf": Case("`{code}` reads a NumPy number that the module keeps", _ON_SELF),
        "BadIntOnSelf": Case("`{code}` reads a NumPy number that the module keeps", _ON_SELF),
        "BadRounded": Case(
            "`{code}` rounds a NumPy number",
            Instead("make it a Python number before: `math.ceil(n / int(hop))`", shown_in="GoodRoundedByInt"),
        ),
        "BadRoundedOnSelf": Case("`{code}` rounds what is computed with a NumPy number", _ON_SELF),
        "BadSliceInForward": Case("`{code}` is a slice with a NumPy number as a bound", _INT),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is an array asked for its truth, read with `.item()`, or handed over where a size may be?"""
        sketch = code.sketch
        read = (value.kind is Kind.ARRAY for value in map(sketch.value, asked_for_truth(sketch)))
        given = (part for call in sketch.calls if _may_size(call.method) for part in call.arguments)
        owners = (call.owner for call in sketch.calls if call.method == "item" and call.owner)
        bounds = (part for node in sketch.nodes(ast.Slice) for part in (node.lower, node.upper) if part)
        kept = any(value.kind is Kind.ARRAY and value.on_self for value in sketch.values)
        return (
            kept
            or any(read)
            or any(sketch.value(part).kind is Kind.ARRAY for part in (*given, *owners, *bounds, *_rounded(sketch)))
        )

    def asked(self, asked: Asked) -> None:
        value = self.code.value(asked.node)
        if value.kind is not Kind.ARRAY or asked.form == "chained" or self.guarded(asked):
            return
        case = "BadTernary" if asked.form == "ternary" else "BadBranchOnNumber"
        self.report(asked.node, "BadBranchOnEntry" if value.on_self else case)

    def visit_Call(self, node: cst.Call) -> None:
        method = called(node)
        if method == "item" and isinstance(node.func, cst.Attribute):
            if self.code.value(node.func.value).kind is Kind.ARRAY:
                self.report(node, "BadItem")
            return
        name = self.code.name(node.func)
        if name in _CONVERTED and node.args and _is_kept(self.code.value(node.args[0].value)):
            self.report(node, _CONVERTED[name])
        elif _rounds(name) and node.args and (given := self.code.value(node.args[0].value)).kind is Kind.ARRAY:
            self.report(node, "BadRoundedOnSelf" if given.on_self else "BadRounded")
        if not _may_size(method):
            return
        array = next((v for v in (self.code.value(arg.value) for arg in node.args) if v.kind is Kind.ARRAY), None)
        if array and self.code.name(node.func) == "builtins.range":
            self.report(node, "BadRangeOnSelf" if array.on_self else "BadRangeInForward")
        elif array and not (self.code.name(node.func) or "").startswith("numpy."):
            self.report(node, "BadSizeOnSelf" if array.on_self else "BadSizeInForward")

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        sides = [self.code.value(node.left), self.code.value(node.right)]
        if any(side.is_tensor for side in sides) and any(map(_is_kept, sides)):
            self.report(node, "BadScaleOnSelf")

    def visit_Slice(self, node: cst.Slice) -> None:
        bounds = [part for part in (node.lower, node.upper) if part is not None]
        if any(self.code.value(part).kind is Kind.ARRAY for part in bounds):
            self.report(node, "BadSliceInForward")


def _rounded(sketch: Sketch) -> Iterator[ast.expr]:
    return (call.node.args[0] for call in sketch.calls if call.node.args and _rounds(sketch.name(call.node.func)))


def _is_kept(value: Value) -> bool:
    return value.kind is Kind.ARRAY and value.on_self


def _rounds(name: str | None) -> bool:
    """`math.ceil` and its kin."""
    return name == "builtins.round" or (name or "").startswith("math.")


def _may_size(method: str | None) -> bool:
    return method in _SIZED or method == "range"
