# ruff: noqa: N802  # libcst names its visitors visit_Call
"""Base of the rules that are a table of operators: calls of functions, methods of tensors and layers of torch."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, ClassVar

from exportlint.engine.values.abstract_value import Kind
from exportlint.rule.base import Rule
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Mapping

    import libcst as cst

    from exportlint.engine.values.abstract_value import Value
    from exportlint.rule.code import Code
    from exportlint.rule.sketch import Called, Sketch


class OperatorRule(Rule):
    """Each table goes from names to the Bad class that shows the operator.

    functions   dotted names, as in "torch.sort", several with a space between them
    methods     names of methods; a call counts where its object is known to be a tensor
    layers      dotted names of modules of torch; a call counts where a module is known to be one

    >>> from exportlint import Case
    >>> from exportlint.testing import code_of
    >>> class Sorts(OperatorRule):
    ...     cases = {"BadSort": Case("`{code}` sorts", "take `torch.topk`")}
    ...     functions = {"BadSort": "torch.sort torch.argsort"}
    ...     methods = {"BadSort": "sort"}
    >>> code = code_of('''
    ... import torch
    ... class Net(torch.nn.Module):
    ...     def forward(self, x):
    ...         self.names.sort()
    ...         return torch.sort(x)[0], x.sort()[0]
    ... ''', "forward")
    >>> code.sweep(rule := Sorts(code))
    >>> [found.exported.message for found in rule.found]
    ['`torch.sort(x)` sorts', '`x.sort()` sorts']
    """

    functions: ClassVar[Mapping[str, str]] = {}
    methods: ClassVar[Mapping[str, str]] = {}
    layers: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them called?"""
        sketch = code.sketch
        return not sketch.origins.isdisjoint(cls._case_of("functions")) or any(
            cls._may_be(sketch, c) for c in sketch.calls
        )

    @classmethod
    def _may_be(cls, sketch: Sketch, call: Called) -> bool:
        is_layer = _layer_name(sketch.value(call.node.func)) in cls._case_of("layers")
        return is_layer or call.method in cls._case_of("methods")

    @classmethod
    @cache
    def _case_of(cls, table: str) -> dict[str, str]:
        """Name -> Bad class, of one of the tables."""
        tables: Mapping[str, str] = getattr(cls, table)
        return {name: case for case, names in tables.items() for name in names.split()}

    def visit_Call(self, node: cst.Call) -> None:
        """Report a call of one of them."""
        if case := self.case_of(node):
            self.report(node, case)

    def case_of(self, node: cst.Call) -> str | None:
        """The Bad class that shows the called operator; None of other calls."""
        if case := self._case_of("functions").get(self.code.name(node.func) or ""):
            return case
        if case := self._case_of("layers").get(_layer_name(self.code.value(node.func))):
            return case
        owner = self.code.value(getattr(node.func, "value", node.func))
        return self._case_of("methods").get(called(node) or "") if owner.is_tensor else None


def _layer_name(value: Value) -> str:
    return (value.name or "") if value.kind is Kind.MODULE and value.cls is None else ""
