"""Both sides of a decision are computed and one is selected; a check stays in the program as an assertion."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite
from exportlint.rewriting.as_tensors.function_numbers import function_numbers
from exportlint.rewriting.context.handled import handles_errors
from exportlint.rewriting.context.returned import is_result
from exportlint.rewriting.decisions.kept_checks import checked_at_run_time
from exportlint.rewriting.decisions.kept_in_names import read_names
from exportlint.rewriting.decisions.masked_block import does_nothing_where_nothing_is_chosen
from exportlint.rewriting.decisions.ordering import chosen_by_value
from exportlint.rewriting.decisions.selection import selected_expression, selected_statement
from exportlint.rewriting.decisions.special_case import without_special_case
from exportlint.rewriting.decisions.tensor_test import tensor_test
from exportlint.rewriting.decisions.truth_values import chosen_by_truth, is_python_bool
from exportlint.rewriting.iteration.loops_on_data import operator_loop
from exportlint.rewriting.iteration.masked_steps import bounded_loop, full_loop, skipped_rest
from exportlint.rewriting.made_once.listed_in_init import listed_in_init
from exportlint.rewriting.numbers.unread import without_reads
from exportlint.rewriting.source.assigned_names import every

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import AnyChange


_TORCH = ModuleImport("torch")
_VALIDATING = frozenset({"BadDistribution", "BadStandardNormal"})
_NO_TEST = frozenset({"BadMinKey", "BadMaxRows", "BadMaxItem", "BadSorted", "BadSortedKey", "BadSort", "BadLogProb"})
_PARTS = cst.BooleanOperation | cst.UnaryOperation | cst.Comparison | cst.Call | cst.NamedExpr


class SelectedBranch(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case in _VALIDATING and isinstance(node, cst.Call):
            yield from self._unvalidated(node)
            return
        decision = self._decision(node)
        if (listed := listed_in_init(self.code, getattr(decision, "test", node))) is not None:
            yield Rewrite("read its numbers once, in `__init__`", listed)
        match decision:
            case cst.If():
                yield from self._statement(decision)
            case cst.IfExp():
                yield from self._made(
                    "compute both sides and select", decision.test, selected_expression(self.code, decision)
                )
            case cst.While():
                yield from self._made("take every step of the loop", decision.test, bounded_loop(self.code, decision))
                yield from self._made("loop with an operator", decision.test, operator_loop(self.code, decision))
            case cst.Assert() if (text := checked_at_run_time(self.code, decision)) is not None:
                yield from self._check(decision, text)
            case None if isinstance(node, cst.BaseExpression):
                yield from self._value(node, case)

    def unforeseen(self, line: int) -> Iterator[tuple[cst.CSTNode, str]]:
        """The innermost decision whose test is there."""
        self.code.sweep(found := _Decisions())
        places = [(one, self.code.place(one.test)) for one in found.nodes]
        yield from [(one, "") for one, place in places if place.line <= line <= place.end_line][-1:]

    def _decision(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The statement or ternary whose test the node is a part of."""
        above = self.code.parent(node)
        while above is not None:
            if isinstance(above, cst.If | cst.IfExp | cst.Assert | cst.While) and above.test is node:
                return above
            if not isinstance(above, _PARTS | cst.Arg | cst.ComparisonTarget):
                return node if isinstance(node, cst.If | cst.IfExp | cst.Assert) else None
            node, above = above, self.code.parent(above)
        return None

    def _statement(self, node: cst.If) -> Iterator[Rewrite]:
        if (text := checked_at_run_time(self.code, node)) is not None:
            yield from self._check(node, text)
            return
        yield from self._made("compute both sides and select", node.test, selected_statement(self.code, node))
        yield from self._made("take every step of the loop", node.test, full_loop(self.code, node))
        yield from self._made("take the rest of every step", node.test, skipped_rest(self.code, node))
        if does_nothing_where_nothing_is_chosen(node):
            yield Rewrite("do it without the test", (Change(node, self._dedented(node)),))
        yield from function_numbers(self.code)
        yield from without_special_case(self.code, node)

    def _check(self, node: cst.Assert | cst.If, text: str) -> Iterator[Rewrite]:
        if not self._is_caught(node):
            changes = (Change(node, text), ModuleImport("torch"))
            yield from self._made("check it while the program runs, which raises a RuntimeError", node.test, changes)

    def _is_caught(self, node: cst.CSTNode) -> bool:
        """May the function, or another one of the file, handle what it raises?"""
        raised = [one for one in every(node) if isinstance(one, cst.Raise)] if isinstance(node, cst.If) else []
        if raised and handles_errors(self.code):
            return True
        while (above := self.code.parent(node)) is not None:
            if isinstance(above, cst.Try) and node is above.body:
                return True
            node = above
        return False

    def _value(self, node: cst.BaseExpression, case: str) -> Iterator[Rewrite]:
        """A tensor of one bool in the place of a Python bool."""
        yield from self._of_value(node, case)
        yield from function_numbers(self.code)

    def _of_value(self, node: cst.BaseExpression, case: str) -> Iterator[Rewrite]:
        if isinstance(node, cst.Call) and self.code.name(node.func) in {"builtins.bool", "builtins.float"}:
            if is_result(self.code, node):
                return
            yield Rewrite("keep it a tensor", (Change(node, without_reads(self.code, node)),))
        if isinstance(node, cst.Call) and (text := chosen_by_value(self.code, node)) is not None:
            yield Rewrite("choose by the values in tensors", (Change(node, text), ModuleImport("torch")))
            return
        whole = self._whole(node)
        if not isinstance(node, cst.Call) or case not in _NO_TEST:
            yield from self._joined(whole)

    def _joined(self, whole: cst.BaseExpression) -> Iterator[Rewrite]:
        if (text := chosen_by_truth(self.code, whole)) is not None:
            yield from self._made("choose by the truth of the tensor", whole, (Change(whole, text), _TORCH))
        elif not is_python_bool(whole) or not is_result(self.code, whole):
            yield from self._tested(whole)

    def _tested(self, whole: cst.BaseExpression) -> Iterator[Rewrite]:
        if (text := tensor_test(self.code, whole)) is not None:
            yield from self._made("join the tests as tensors", whole, (Change(whole, text), _TORCH))

    def _whole(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """The `and`, `or` and `not` that it is a part of."""
        above = self.code.parent(node)
        while isinstance(above, cst.BooleanOperation | cst.UnaryOperation | cst.Comparison | cst.ComparisonTarget):
            if isinstance(above, cst.BaseExpression):
                node = above
            above = self.code.parent(above)
        return node

    def _made(
        self, description: str, test: cst.BaseExpression, changes: tuple[AnyChange, ...] | None
    ) -> Iterator[Rewrite]:
        reads = read_names(self.code, test)
        if changes is not None and reads is not None:
            yield Rewrite(description, (*changes, *reads))

    def _unvalidated(self, node: cst.Call) -> Iterator[Rewrite]:
        if not any(one.keyword and one.keyword.value == "validate_args" for one in node.args):
            arguments = [self.source(one).rstrip(", \n") for one in node.args]
            text = f"{self.source(node.func)}({', '.join([*arguments, 'validate_args=False'])})"
            yield Rewrite("build it without checks of its arguments", (Change(node, text),))

    def _dedented(self, node: cst.If) -> str:
        lines = [cst.Module([]).code_for_node(line).strip("\n") for line in node.body.body]
        return "\n".join(lines)


class _Decisions(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[cst.If | cst.IfExp | cst.Assert] = []

    def visit_If(self, node: cst.If) -> None:
        self.nodes.append(node)

    def visit_IfExp(self, node: cst.IfExp) -> None:
        self.nodes.append(node)

    def visit_Assert(self, node: cst.Assert) -> None:
        self.nodes.append(node)
