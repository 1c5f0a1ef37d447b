"""`torch.autograd.Variable` in forward.

Why: since torch 0.4 every tensor is what a Variable was, and `Variable(x)` gives x. In strict mode Dynamo cannot trace
the call, which is written in C++, and refuses it. Non-strict mode runs it and exports.

Instead: leave it out. `Variable(x)` is `x`; `Variable(x, requires_grad=True)` is `x.requires_grad_()`, which belongs
outside of forward.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Rule

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Code

_VARIABLE = "torch.autograd.Variable"


class LegacyVariable(Rule):
    mended_by = ("templates",)
    words = r"Variable\b(?<!\wVariable)"
    graph_breaks = ("GB0007",)
    torch_says = (r"builtin `<unknown module>\._LegacyVariableBase",)
    cases: ClassVar = {
        "BadVariable": Case("`{code}` wraps a tensor in what every tensor has long been", "use the tensor itself")
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a Variable made?"""
        return _VARIABLE in code.sketch.origins

    def visit_Call(self, node: cst.Call) -> None:
        if self.code.name(node.func) == _VARIABLE:
            self.report(node, "BadVariable")
