# ruff: noqa: N802  # libcst names its visitors visit_Call
"""What a rule asks that reads calls with functions as arguments."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.engine.values.abstract_value import Kind
from exportlint.finding import Severity
from exportlint.rule.base import Rule
from exportlint.rule.branches.branch_function import Branch
from exportlint.rule.branches.branch_results import Results

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.rule.branches.branch_function import Touch
    from exportlint.rule.code import Code


class BranchRule(Rule):
    """A rule over calls that are given functions: it knows the functions, and what names were bound to once.

    >>> from exportlint.testing import code_of
    >>> class Arity(BranchRule):
    ...     def visit_Call(self, node):
    ...         if self.code.name(node.func) == "torch.cond":
    ...             self.takes = len(self.branch(self.given(node, ("pred", "true_fn"))["true_fn"]).params)
    >>> code = code_of('''
    ... import torch
    ... class Net(torch.nn.Module):
    ...     def forward(self, x):
    ...         def yes(t): return t + 1
    ...         return torch.cond(x.sum() > 0, yes, lambda t: t - 1, (x,))
    ... ''', "forward")
    >>> rule = Arity(code)
    >>> code.sweep(rule)
    >>> rule.takes
    1
    """

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._functions: dict[str, cst.FunctionDef | cst.Lambda] = {}
        self._assigned: dict[str, cst.BaseExpression | None] = {}

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self._functions[node.name.value] = node

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                name = target.target.value
                self._assigned[name] = None if name in self._assigned else node.value
                if isinstance(node.value, cst.Lambda):
                    self._functions[name] = node.value

    def given(self, call: cst.Call, names: tuple[str, ...]) -> dict[str, cst.BaseExpression]:
        """The arguments by the names of the parameters, given by place or by name."""
        places = (arg.value for arg in call.args if not arg.keyword and not arg.star)
        return dict(zip(names, places, strict=False)) | {a.keyword.value: a.value for a in call.args if a.keyword}

    def branch(self, node: cst.BaseExpression) -> Branch | None:
        """The function that an argument is: a lambda, or one that the file defines."""
        function = self._functions.get(node.value, node) if isinstance(node, cst.Name) else node
        if isinstance(function, cst.FunctionDef | cst.Lambda):
            return Branch.of(_syntax(function))
        value = self.code.value(node)
        if value.kind is Kind.MODULE and value.cls and (forward := value.cls.method("forward")):
            return Branch.of(forward.node, method=True)
        known = value.function
        return Branch.of(known.node, method=isinstance(node, cst.Attribute)) if known else None

    def origin(self, node: cst.BaseExpression) -> ast.expr | None:
        """The expression that a name was bound to, if that was once; any other node is its own."""
        found = self._assigned.get(node.value) if isinstance(node, cst.Name) else node
        syntax = _syntax(found) if found is not None else None
        return syntax.value if isinstance(syntax, ast.Expr) else None

    def dtype_made(self, node: cst.BaseExpression) -> str | None:
        """The dtype of a tensor that is made of Python numbers, or cast: "int64" for `torch.tensor(0)`."""
        origin = self.origin(node)
        dtype = Results(Branch([], spare=False, body=[])).dtype(origin) if origin else None
        return dtype.name if dtype else None

    def report_touches(
        self,
        place: cst.BaseExpression,
        branch: Branch,
        cases: Mapping[Touch, str],
        at_most: Mapping[str, Severity] | None = None,
    ) -> None:
        """Report what a branch does with what is not its own; `cases` says as which case, `at_most` how severe."""
        results = (part for returned in branch.returns for part in branch.results(returned))
        touched = ((branch.touched(part), part) for part in results)
        for touch, node in (*branch.effects(), *touched):
            if touch and (case := cases.get(touch)):
                self.report(place, case, at_most=(at_most or {}).get(case, Severity.ERROR), name=ast.unparse(node))


def _syntax(node: cst.CSTNode) -> ast.stmt:
    return ast.parse(cst.Module([]).code_for_node(node).strip()).body[0]
