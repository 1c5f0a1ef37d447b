"""Gradients are computed, or asked for, while forward runs.

Why: an exported program is a forward computation. `torch.autograd.grad` and the transforms of `torch.func` leave
traced values behind that torch refuses or that make the program fail when it is called. `.backward()` runs once,
while tracing: strict mode refuses it, non-strict mode exports a program whose `.grad` never changes.
`requires_grad_()` and `retain_grad()` export in non-strict mode only. `no_grad` and `enable_grad` are fine.

Instead: write the gradient out, or export the function that computes the value and differentiate outside of it; a
training step belongs to a method that is not exported.
"""

from __future__ import annotations

import ast
from typing import ClassVar

import libcst as cst

from exportlint import Case, Code, Instead, Kind, Rule, Severity, Source, called, flat_targets

_OUTSIDE = Instead(
    "write the gradient out, or export the value and differentiate outside of the program",
    compiled="write the gradient out, or differentiate outside of what is compiled",
)
_TRAINING = Instead(
    "training steps belong to a method that is not exported",
    compiled="training steps belong to a method that is not compiled",
)
_FREEZE = "set it in `__init__` or where the input is made"

_FUNCTIONS = {
    "torch.autograd.grad": "BadGradInput",
    "torch.autograd.backward": "BadBackwardFunction",
    "torch.func.grad": "BadFuncGrad",
    "torch.func.grad_and_value": "BadFuncGrad",
    "torch.func.vjp": "BadFuncVjp",
    "torch.func.jacrev": "BadFuncJacrev",
    "torch.func.jacfwd": "BadFuncJacrev",
    "torch.func.hessian": "BadFuncJacrev",
    "torch.autograd.functional.jacobian": "BadJacobian",
    "torch.autograd.functional.hessian": "BadJacobian",
}


class AutogradInForward(Rule):
    mended_by = ("templates", "interface")
    graph_breaks = ("GB0125", "GB0123", "GB9186", "GB0108", "GB0206", "GB7324")
    torch_says = (
        r"Unsupported Tensor\.(requires_grad_|backward)\(\) call",
        r"using `torch\.autograd\.grad`",
        r"setattr\(\) on Tensor\.requires_grad",
        r"Tensor\.retain_grad\(\) with AOTDispatcher",
    )
    shown_by = ("gradients",)
    cases: ClassVar = {
        "BadGradInput": Case(
            "`{code}` differentiates inside forward",
            _OUTSIDE,
        ),
        "BadFuncGrad": Case(
            "`{code}` differentiates inside forward",
            _OUTSIDE,
        ),
        "BadFuncVjp": Case(
            "`{code}` differentiates inside forward",
            _OUTSIDE,
        ),
        "BadFuncJacrev": Case(
            "`{code}` differentiates inside forward",
            _OUTSIDE,
        ),
        "BadJacobian": Case(
            "`{code}` differentiates inside forward",
            _OUTSIDE,
        ),
        "BadBackward": Case(
            "`{code}` runs the backward pass inside forward",
            _TRAINING,
        ),
        "BadBackwardFunction": Case(
            "`{code}` runs the backward pass inside forward",
            _TRAINING,
        ),
        "BadOptimizer": Case(
            "`{code}` makes an optimizer inside forward",
            _TRAINING,
        ),
        "BadStoredOptimizer": Case(
            "`{code}` changes the weights inside forward",
            _TRAINING,
        ),
        "BadRequiresGradInput": Case("`{code}` asks for gradients of an input", _FREEZE),
        "BadRequiresGradComputed": Case(
            "`{code}` asks for gradients of an intermediate tensor",
            Instead(
                "set it where the input is made, since no program keeps it; a gradient that is computed here is to be"
                " written out",
                compiled="set it where the input is made; a gradient that is computed here is to be written out",
            ),
        ),
        "BadRequiresGradModule": Case("`{code}` changes which weights want gradients", _FREEZE),
        "BadRequiresGradAttr": Case("`{code}` asks for gradients", _FREEZE),
        "BadCreatedWithGrad": Case(
            "`{code}` makes a tensor that wants gradients", "leave `requires_grad=True` out: nobody differentiates it"
        ),
        "BadRetainGrad": Case(
            "`{code}` keeps a gradient",
            _TRAINING,
            in_program=" for a backward pass that the program does not have",
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a gradient asked for, or an optimizer made or stepped?"""
        sketch = code.sketch
        return (
            any(name in _FUNCTIONS or name.startswith("torch.optim.") for name in sketch.origins)
            or any(isinstance(target, ast.Attribute) and target.attr == "requires_grad" for target in sketch.targets())
            or any(_wants_grad(call.node) for call in sketch.calls)
            or not sketch.methods.isdisjoint({"backward", "retain_grad", "step", "requires_grad_"})
        )

    def visit_Assign(self, node: cst.Assign) -> None:
        off = isinstance(node.value, cst.Name) and node.value.value == "False"
        for target in flat_targets(node):
            if isinstance(target, cst.Attribute) and target.attr.value == "requires_grad" and not off:
                owner = self.code.value(target.value)
                if owner.is_tensor:
                    self.report(node, "BadRequiresGradAttr", because=owner)

    def visit_Call(self, node: cst.Call) -> None:
        name = self.code.name(node.func) or ""
        if name in _FUNCTIONS:
            self.report(node, _FUNCTIONS[name])
        elif name.startswith("torch.optim.") and name.rpartition(".")[2][:1].isupper():
            self.report(node, "BadOptimizer")
        elif name.count(".") == 1 and name.startswith("torch.") and any(map(_is_wish, node.args)):
            self.report(node, "BadCreatedWithGrad")
        elif isinstance(node.func, cst.Attribute):
            self._method(node, node.func.value)

    def _method(self, node: cst.Call, owner: cst.CSTNode) -> None:
        match called(node):
            case "backward":
                self._on_tensor(node, owner, "BadBackward")
            case "retain_grad":
                self._on_tensor(node, owner, "BadRetainGrad")
            case "step" if (self.code.value(owner).name or "").startswith("torch.optim."):
                self.report(node, "BadStoredOptimizer")
            case "requires_grad_":
                self._requires_grad(node, owner)

    def _on_tensor(self, node: cst.Call, owner: cst.CSTNode, case: str) -> None:
        value = self.code.value(owner)
        if value.is_tensor:
            self.report(node, case, because=value)
        elif value.kind is Kind.UNKNOWN and case == "BadBackward":
            self.report(node, case, at_most=Severity.WARNING)

    def _is_off(self, flag: cst.BaseExpression) -> bool:
        """False, or an argument that is False unless the caller says otherwise."""
        if not isinstance(flag, cst.Name):
            return False
        spec = getattr(self.code.function.node, "args", None) if self.code.function else None
        pairs = zip(reversed(spec.args), reversed(spec.defaults), strict=False) if spec else ()
        left = any(arg.arg == flag.value and ast.unparse(default) == "False" for arg, default in pairs)
        return left or flag.value == "False" or self.code.value(flag).truth is False

    def _requires_grad(self, node: cst.Call, owner: cst.CSTNode) -> None:
        value = self.code.value(owner)
        off = bool(node.args) and self._is_off(node.args[0].value)
        if value.kind is Kind.MODULE:
            self.report(node, "BadRequiresGradModule")
        elif value.is_tensor and not off:
            case = "BadRequiresGradInput" if value.source is Source.INPUT else "BadRequiresGradComputed"
            self.report(node, case, because=value)


def _is_wish(arg: cst.Arg) -> bool:
    """`requires_grad=True`."""
    return (
        arg.keyword is not None
        and arg.keyword.value == "requires_grad"
        and isinstance(arg.value, cst.Name)
        and arg.value.value == "True"
    )


def _wants_grad(call: ast.Call) -> bool:
    return any(word.arg == "requires_grad" for word in call.keywords)
