"""Wishes for gradients that nobody takes are left out, and weights are frozen in `__init__`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, InInit, ModuleImport, Repair, Rewrite, called
from exportlint.rewriting.made_once.made_before import is_free
from exportlint.rewriting.source.left_out import left_out
from exportlint.rewriting.source.source_of_calls import in_statement_alone, operand, without_argument

if TYPE_CHECKING:
    from collections.abc import Iterator


_READS = frozenset({"grad", "grad_fn", "backward"})
_STEPS = frozenset({"grad", "grad_fn", "step"})
_WISHES = frozenset({
    "BadRequiresGradInput", "BadRequiresGradComputed", "BadRequiresGradAttr", "BadRetainGrad", "BadCreatedWithGrad",
})  # fmt: skip
_DENSE = {
    "torch.func.jacrev": "jacobian", "torch.func.jacfwd": "jacobian", "torch.func.grad": "jacobian",
    "torch.func.hessian": "hessian",
}  # fmt: skip


class UnaskedGradients(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case, node:
            case "BadRequiresGradModule", cst.Call():
                yield from self._frozen_before(node)
            case "BadFuncGrad" | "BadFuncJacrev", cst.Call():
                yield from self._transformed(node)
            case "BadBackward" | "BadBackwardFunction", _ if not self._reads(_STEPS):
                if (found := left_out(self.code, node)) is not None:
                    yield found
            case _ if case in _WISHES and not self._reads(_READS):
                yield from self._unasked(node)

    def _reads(self, names: frozenset[str]) -> bool:
        """Does the class read such an attribute, or a function of the file a gradient?"""
        classes = self.code.cls.lineage if self.code.cls else ()
        own = [(cls.node, names) for cls in classes]
        files = [(one.node, frozenset({"grad"})) for one in self.code.module.functions.values()]
        return any(
            isinstance(node, ast.Attribute) and node.attr in looked_for
            for whole, looked_for in (*own, *files)
            for node in ast.walk(whole)
        )

    def _unasked(self, node: cst.CSTNode) -> Iterator[Rewrite]:
        match node:
            case cst.Assign(targets=[_]):
                yield Rewrite("leave it out: nobody differentiates", (Change(node, ""),))
            case cst.Call(func=cst.Attribute(value=owner)) if called(node) in {"requires_grad_", "retain_grad"}:
                alone = in_statement_alone(self.code, node)
                change = Change(alone, "") if alone else Change(node, operand(self.code, owner))
                yield Rewrite("leave it out: nobody differentiates", (change,))
            case cst.Call():
                text = without_argument(self.code, node, "requires_grad")
                yield Rewrite("leave `requires_grad` out: nobody differentiates", (Change(node, text),))

    def _frozen_before(self, node: cst.Call) -> Iterator[Rewrite]:
        alone = in_statement_alone(self.code, node)
        if alone is not None and is_free(self.code, node):
            changes = (InInit(self.source(node)), Change(alone, ""))
            yield Rewrite("do it in `__init__`", changes)

    def _transformed(self, node: cst.Call) -> Iterator[Rewrite]:
        """`torch.func.jacrev(f)(x)` as `torch.autograd.functional.jacobian(f, x)`, which non-strict mode may trace."""
        new = _DENSE.get(self.code.name(node.func) or "")
        match self.code.parent(node), node:
            case cst.Call(func=func, args=[cst.Arg(value=x, keyword=None, star="")]) as whole, cst.Call(
                args=[cst.Arg(value=f, keyword=None, star="")]
            ) if func is node and new:
                text = f"torch.autograd.functional.{new}({self.source(f)}, {self.source(x)}, create_graph=True)"
                yield Rewrite("let autograd compute it", (Change(whole, text), ModuleImport("torch")))
