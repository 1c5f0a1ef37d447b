"""A tensor goes through NumPy and back.

Why: NumPy works on memory, and a tensor that is being traced has none. In non-strict mode torch refuses (".numpy() is
not supported for tensor subclasses"); in strict mode Dynamo translates many NumPy calls into torch operations and the
program is right. NumPy on Python numbers and sizes (`np.sqrt(dim)`, `np.prod(shape)`) exports in both modes.

Instead: the torch function of the same name (`torch.argsort`, `torch.clamp`, `torch.round`), or, for tables that do
not depend on the input, NumPy in `__init__` and a buffer:

    self.register_buffer("table", torch.from_numpy(table))
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Kind, Rule, called

if TYPE_CHECKING:
    from exportlint import Code

_TORCH = "use the torch function, which is traced"
_TO_ARRAY = frozenset({"numpy", "__array__"})
_MAKERS = frozenset({"torch.from_numpy", "torch.tensor", "torch.as_tensor"})


class NumpyRoundTrip(Rule):
    mended_by = ("decide-in-data", "loop-in-data", "numbers-stay-tensors", "templates", "number-operator")
    graph_breaks = ("GB0105", "GB0231")
    torch_says = (r"\.numpy\(\) is not supported for tensor subclasses",)
    cases: ClassVar = {
        "BadNumpyMethod": Case("`{code}` needs the values of a tensor while it is traced", _TORCH),
        "BadNumpyFunction": Case("`{code}` gives a tensor to a library that works on memory", _TORCH),
        "BadArrayAttribute": Case(
            "`{code}` turns an array of the module into a tensor while forward runs",
            "make the tensor in `__init__` and register it as a buffer",
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is data handed to numpy, or an array to torch?"""
        sketch = code.sketch
        for call in sketch.calls:
            if call.method in _TO_ARRAY and call.owner and sketch.value(call.owner).is_tensor:
                return True
            if call.origin.startswith(("numpy.", "scipy.")) and sketch.holds_data(call.arguments):
                return True
            if call.origin in _MAKERS and any(sketch.value(arg).kind is Kind.ARRAY for arg in call.arguments):
                return True
        return False

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if called(node) in _TO_ARRAY and isinstance(node.func, cst.Attribute):
            value = self.code.value(node.func.value)
            if value.is_tensor:
                self.report(node, "BadNumpyMethod", because=value)
        elif name.startswith(("numpy.", "scipy.")):
            self._function(node)
        elif name in _MAKERS and node.args:
            array = self.code.value(node.args[0].value)
            if array.kind is Kind.ARRAY and array.on_self:
                self.report(node, "BadArrayAttribute")

    def _function(self, node: cst.Call) -> None:
        for arg in node.args:
            value = self.code.value(arg.value)
            inner = value.element if value.kind is Kind.CONTAINER else value
            if inner and inner.is_tensor:
                self.report(node, "BadNumpyFunction", because=value)
                return
