"""A lazy layer has no weights yet when the export begins.

Why: `nn.LazyLinear` and its like get their weights from the first input. That is too late for the tracer: non-strict
mode refuses the uninitialised parameter, strict mode exports random weights of its own.

Instead: give the size (`nn.Linear(width, 3)`), or run the model once on an example before the export.

The rewrite runs the model once where the file makes it, on the example that the file makes. It is taken where that
gives the same weights: most layers draw theirs, and drawn at another moment they are others.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Rule, Scope, Severity, Visitor, flat_targets, last_name, walked

if TYPE_CHECKING:
    from exportlint import Code

_LAZY = re.compile(r"torch\.nn\.(?:[\w.]*\.)?Lazy[A-Z]\w*")


class UninitialisedLazyModule(Rule):
    scope = Scope.FILE
    mended_by = ("interface",)
    words = r"Lazy(?<!\wLazy)[A-Z]"
    torch_says = (r"Attempted to use an uninitialized parameter",)
    cases: ClassVar = {
        "BadUninitialised": Case(
            "`{code}` has no weights until the model has run once",
            "give the input size to a layer that is not lazy, or run the model on an example before the export",
        )
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a lazy layer made?"""
        return any(map(_LAZY.fullmatch, code.sketch.origins))

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        if self._is_run(node.name.value):
            return
        for method in node.body.body:
            if isinstance(method, cst.FunctionDef) and method.name.value == "__init__":
                self._check(method)

    def _is_run(self, name: str) -> bool:
        """Does a function that makes the model also call it: `net = Net(); net(torch.zeros(1, 3))`?"""
        for function in self.code.module.functions.values():
            nodes = list(walked(function.node))
            made = [n for n in nodes if isinstance(n, ast.Assign) and _makes(n.value, name)]
            names = {target.id for n in made for target in n.targets if isinstance(target, ast.Name)}
            calls = (n.func.id for n in nodes if isinstance(n, ast.Call) and isinstance(n.func, ast.Name))
            if not names.isdisjoint(calls):
                return True
        return False

    def _check(self, init: cst.FunctionDef) -> None:
        """Report what `__init__` makes lazily, unless it also runs it (`self.proj(torch.ones(2, 4))`)."""
        calls = _Calls()
        init.visit(calls)
        run = {_attribute(call.func) for call in calls.found}
        for call in calls.found:
            name = self.code.name(call.func) or ""
            if _LAZY.fullmatch(name) and not (calls.kept.get(call, set()) & run):
                self.report(call, "BadUninitialised", at_most=Severity.WARNING)


def _makes(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and last_name(node.func) == name


class _Calls(Visitor):
    """The calls of a function, and to which attribute of self the result of each goes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.Call] = []
        self.kept: dict[cst.Call, set[str]] = {}
        self._targets: set[str] = set()

    def visit_Assign(self, node: cst.Assign) -> None:
        self._targets = {name for target in flat_targets(node) if (name := _attribute(target))}

    def leave_Assign(self, original_node: cst.Assign) -> None:
        self._targets = set()

    def visit_Call(self, node: cst.Call) -> None:
        self.found.append(node)
        self.kept[node] = self._targets


def _attribute(node: cst.CSTNode) -> str:
    """The "proj" of `self.proj`, else the empty string."""
    match node:
        case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)):
            return name
    return ""
