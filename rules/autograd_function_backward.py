"""The backward of an autograd.Function does what strict mode cannot trace.

Why: strict mode traces the `backward` of a `torch.autograd.Function` together with its forward, although an exported
program has no backward pass. There it refuses `torch.autograd.grad`, and it does not know `ctx.saved_variables`, the
name that `ctx.saved_tensors` had before torch 0.4. Non-strict mode runs only the forward and exports.

Instead: read `ctx.saved_tensors`, and write the gradient out. A function that trades memory for a second computation
(checkpointing) is for training: call the module itself when it is exported.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Instead, Rule, Scope, Severity

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Code

_GRADIENTS = frozenset({"torch.autograd.grad", "torch.autograd.backward"})


class AutogradFunctionBackward(Rule):
    mended_by = ("templates",)
    scope = Scope.FILE
    words = r"saved_variables|autograd\.(grad|backward)\b|grad(?<!\wgrad)\("
    graph_breaks = ("GB9186",)
    shown_by = ("gradients",)
    cases: ClassVar = {
        "BadSavedVariables": Case("`{code}` is the old name of `ctx.saved_tensors`", "read `ctx.saved_tensors`"),
        "BadGradInBackward": Case(
            "`{code}` differentiates inside of a backward, which strict mode traces",
            Instead(
                "write the gradient out, or export with the function left out",
                compiled="write the gradient out, or leave the function out",
            ),
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Does the file define an autograd.Function?"""
        return any(found.is_autograd_function for found in code.module.classes.values())

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        functions = (found.node for found in code.module.classes.values() if found.is_autograd_function)
        self._lines = [
            (node.lineno, node.end_lineno or node.lineno)
            for function in functions
            for node in function.body
            if isinstance(node, ast.FunctionDef) and node.name == "backward"
        ]

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value == "saved_variables" and self._in_backward(node):
            self.report(node, "BadSavedVariables", at_most=Severity.WARNING)  # whether a forward applies it is not seen

    def visit_Call(self, node: cst.Call) -> None:
        if self.code.name(node.func) in _GRADIENTS and self._in_backward(node):
            self.report(node, "BadGradInBackward", at_most=Severity.WARNING)

    def _in_backward(self, node: cst.CSTNode) -> bool:
        line = self.code.place(node).line
        return any(first <= line <= last for first, last in self._lines)
