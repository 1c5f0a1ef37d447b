"""A stored iterator becomes a buffer that counts; what forward gives bit by bit becomes a list."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, Repair, Rewrite, Where
from exportlint.rewriting.made_once.counter_buffer import counter_buffer
from exportlint.rewriting.source.assigned_names import every, whole_function
from exportlint.rewriting.source.fresh_names import FreshNames
from exportlint.rewriting.source.source_of_calls import operand

if TYPE_CHECKING:
    from collections.abc import Iterator


class CountedState(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case, node:
            case "BadStoredGenerator", cst.Call():
                yield from counter_buffer(self.code, node)
            case "BadReturnedGenerator", cst.Return(value=cst.BaseExpression() as value):
                yield Rewrite("return a list", (Change(node, f"return {self._listed(value)}"),))
            case "BadYieldingForward", cst.Yield():
                yield from self._collected(node)

    def _listed(self, value: cst.BaseExpression) -> str:
        text = self.source(value)
        if isinstance(value, cst.GeneratorExp):
            return f"[{text}]"
        return f"list({text})"

    def _collected(self, node: cst.Yield) -> Iterator[Rewrite]:
        """Every `yield` a statement of its own, in a function that returns nothing."""
        function = self._function(node)
        if function is None or not isinstance(function.body, cst.IndentedBlock):
            return
        parts = list(every(function.body))
        yields = [one for one in parts if isinstance(one, cst.Yield)]
        returns = [one for one in parts if isinstance(one, cst.Return)]
        inner = any(isinstance(one, cst.FunctionDef | cst.Lambda) for one in parts)
        if inner or any(one.value for one in returns) or not all(self._is_plain(one) for one in yields):
            return
        name = FreshNames(self.code).of("outputs")
        first = next((line for line in function.body.body if not self._is_text(line)), function.body.body[0])
        changes = [
            Change(first, f"{name} = []", Where.BEFORE),
            Change(function.body.body[-1], f"return {name}", Where.AFTER),
        ]
        changes += [Change(one, f"return {name}") for one in returns]
        yield Rewrite("return a list", (*changes, *(Change(one, self._added(one, name)) for one in yields)))

    def _function(self, node: cst.CSTNode) -> cst.FunctionDef | None:
        inside = (one for one in every(whole_function(self.code, node)) if isinstance(one, cst.FunctionDef))
        return next(inside, None)

    def _is_plain(self, node: cst.Yield) -> bool:
        whole = node.value is not None and isinstance(self.code.parent(node), cst.Expr)
        return whole and (not isinstance(node.value, cst.From) or isinstance(node.value.item, cst.BaseExpression))

    def _added(self, node: cst.Yield, name: str) -> str:
        match node.value:
            case cst.From(item=item):
                return f"{name}.extend({operand(self.code, item)})"
            case cst.Tuple() as value:
                return f"{name}.append(({', '.join(self.source(one.value) for one in value.elements)}))"
            case cst.BaseExpression() as value:
                return f"{name}.append({self.source(value)})"
        raise AssertionError(node)

    def _is_text(self, line: cst.CSTNode) -> bool:
        match line:
            case cst.SimpleStatementLine(body=[cst.Expr(value=cst.SimpleString())]):
                return True
        return False
