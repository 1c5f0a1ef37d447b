"""A number is read from a tensor, where torch.compile leaves the graph.

Why: torch.export carries what `.item()` and `.tolist()` give as a symbol. torch.compile does not, unless
`torch._dynamo.config.capture_scalar_outputs` is set: it ends the graph, waits for the data, and begins another one with
the number of that call. So it does where torch reads the number itself, for the end of a slice, a size or a count.

Instead: keep the number a tensor, of no dims where it is one; a size that data says becomes a fixed one and a mask.

    x / x.abs().max()                                           # instead of x / x.abs().max().item()
    torch.arange(x.shape[1]) < lengths[:, None]                 # instead of torch.arange(lengths.max()) < …
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Instead, Rule, Source, called

if TYPE_CHECKING:
    from exportlint import Called, Code, Sketch, Value

_READ = r"\bcapture_scalar_outputs\s*=\s*True"
_MASK = "count to a size that is known, and mask: `torch.arange(x.shape[1]) < lengths[:, None]`"
# What torch takes as sizes and counts, and makes tensors of.
_MAKERS = frozenset({"arange", "zeros", "ones", "empty", "full", "rand", "randn", "linspace", "eye"})
_OF_TENSOR = frozenset({"new_zeros", "new_ones", "new_empty", "new_full"})
_VALUES = frozenset({"full", "new_full"})  # of which the second argument is a value, as a tensor is fine


class NumberReadFromTensor(Rule):
    words = r"item\(|tolist\(|\[|arange|zeros|ones|empty|full|rand|linspace|eye"
    mended_by = (
        "templates",
        "effect-operator",
        "decide-in-data",
        "loop-in-data",
        "numbers-stay-tensors",
    )
    graph_breaks = ("GB0124", "GB0033", "GB0109")
    cases: ClassVar = {
        "BadItem": Case("`{code}` reads a number from a tensor", "keep it a tensor"),
        "BadTolist": Case("`{code}` reads numbers from a tensor", "stay with the tensor, and mask"),
        "BadSlice": Case("`{code}` cuts where the value of a tensor says", Instead(_MASK, shown_in="GoodArange")),
        "BadArange": Case("`{code}` counts to the value of a tensor", _MASK),
        "BadZeros": Case("`{code}` is as large as the value of a tensor says", Instead(_MASK, shown_in="GoodArange")),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a tensor read, or used as a number, where the file doesn't have Dynamo carry numbers?"""
        if code.module.matches(_READ):
            return False
        sketch = code.sketch
        ends = (end for part in sketch.nodes(ast.Slice) for end in (part.lower, part.upper) if end is not None)
        return any(_may_read(call, sketch) for call in sketch.calls) or any(sketch.value(end).is_tensor for end in ends)

    def visit_Call(self, node: cst.Call) -> None:
        method, owner = called(node) or "", self._owner(node)
        if method == "item" and owner is not None and not node.args:
            self.report(node, "BadItem", because=owner)
        elif method == "tolist" and owner is not None:
            self.report(node, "BadTolist", because=owner)
        elif self._makes(node, method) or (method in _OF_TENSOR and owner is not None):
            self._sized(node, method)

    def _makes(self, node: cst.Call, method: str) -> bool:
        return method in _MAKERS and self.code.name(node.func) == f"torch.{method}"

    def _owner(self, node: cst.Call) -> Value | None:
        value = self.code.value(node.func.value) if isinstance(node.func, cst.Attribute) else None
        return value if value is not None and value.is_tensor else None

    def _sized(self, node: cst.Call, method: str) -> None:
        """A number that is an input itself is measured to be a guard, and no break."""
        given = [arg.value for arg in node.args if not arg.keyword]
        sizes = given[:1] if method in _VALUES else given
        parts = [
            part.value if isinstance(part, cst.Element) else part
            for size in sizes
            for part in (size.elements if isinstance(size, cst.Tuple | cst.List) else (size,))
        ]
        tensors = (value for value in map(self.code.value, parts) if value.is_tensor)
        if tensor := next((tensor for tensor in tensors if tensor.source is not Source.INPUT), None):
            self.report(node, "BadArange" if method in {"arange", "linspace"} else "BadZeros", because=tensor)

    def visit_Subscript(self, node: cst.Subscript) -> None:
        if not self.code.value(node.value).is_tensor:
            return
        for part in node.slice:
            if isinstance(part.slice, cst.Slice):
                ends = (self.code.value(end) for end in (part.slice.lower, part.slice.upper) if end is not None)
                if tensor := next((end for end in ends if end.is_tensor), None):
                    self.report(node, "BadSlice", because=tensor)
                    return


def _may_read(call: Called, sketch: Sketch) -> bool:
    """Is it called on a tensor, or with one as a size?"""
    if call.method in {"item", "tolist"}:
        return call.owner is not None and sketch.value(call.owner).is_tensor
    if call.method not in _MAKERS | _OF_TENSOR:
        return False
    given = [arg.value if isinstance(arg, ast.Starred) else arg for arg in call.node.args]
    parts = [part for arg in given for part in (arg.elts if isinstance(arg, ast.Tuple | ast.List) else [arg])]
    return any(sketch.value(part).is_tensor for part in parts)
