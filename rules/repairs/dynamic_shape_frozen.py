"""Sizes go to operators as they are, rows are computed at once, and a decision by a size is a selection."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite
from exportlint.rewriting.context.certainty import where_certain
from exportlint.rewriting.decisions.size_branch import checked_size, selected_by_size
from exportlint.rewriting.iteration.all_rows import all_rows_at_once
from exportlint.rewriting.iteration.row_wise import listed_rows
from exportlint.rewriting.numbers.numbers_of_tensors import as_owner
from exportlint.rewriting.numbers.rows import as_size
from exportlint.rewriting.numbers.size_numbers import as_symbol

if TYPE_CHECKING:
    from collections.abc import Iterator


class SizeKeptSymbolic(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case, node:
            case "BadLen", cst.Call(args=[cst.Arg(value=given, star="")]):
                change = Change(node, f"{as_owner(self.code, given)}.shape[0]")
                yield Rewrite("take the size from its shape", (change,), where_certain(self.code, given))
            case "BadInt" | "BadIntOfQuotient" | "BadMath" | "BadRounded", cst.Call():
                yield from as_symbol(self.code, node)
            case "BadIteration" | "BadRange" | "BadUnbind", cst.BaseExpression():
                yield from all_rows_at_once(self.code, node)
            case "BadList", cst.Call():
                yield from listed_rows(self.code, node)
            case "BadRepeatedList", cst.BinaryOperation():
                yield from self._repeated(node)
            case "BadLookup", cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=index))]):
                yield from self._looked_up(node, index)
            case "BadBranch", cst.BaseExpression():
                yield from selected_by_size(self.code, node)
            case "BadAssert", cst.BaseExpression():
                yield from checked_size(self.code, node)

    def _repeated(self, node: cst.BinaryOperation) -> Iterator[Rewrite]:
        """`torch.tensor([1.0] * x.shape[0])`"""
        listed, times = (node.left, node.right) if isinstance(node.left, cst.List) else (node.right, node.left)
        call = self.code.parent(self.code.parent(node) or node)
        if not isinstance(listed, cst.List) or len(listed.elements) != 1 or not isinstance(call, cst.Call):
            return
        if self.code.name(call.func) not in {"torch.tensor", "torch.as_tensor"}:
            return
        more = "".join(f", {self.source(arg).rstrip(', ')}" for arg in call.args[1:])
        text = f"torch.full(({as_size(self.code, times)},), {self.source(listed.elements[0].value)}{more})"
        yield Rewrite("fill a tensor", (Change(call, text), ModuleImport("torch")))

    def _looked_up(self, node: cst.Subscript, index: cst.BaseExpression) -> Iterator[Rewrite]:
        """`self.table[x.shape[0]]`, of a list of numbers or tensors."""
        owner = self.code.value(node.value)
        if owner.container not in {"list", "tuple"}:
            return
        size, source = as_size(self.code, index), self.source(node.value)
        if owner.element is not None and owner.element.is_tensor:
            text = f"torch.stack({source})[{size}]"
        else:
            text = f"torch.tensor({source}, dtype=torch.float64)[{size}].item()"
        yield Rewrite("look it up in a tensor", (Change(node, text), ModuleImport("torch")))
