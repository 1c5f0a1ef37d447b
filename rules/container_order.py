"""The order of a set reaches the result.

Why: a set gives out tensors in the order of their addresses, and strings in an order that differs from
process to process (PYTHONHASHSEED). The program keeps the one order that held while it was exported, and eager uses
another: export says nothing in either mode. Small whole numbers hash to themselves and keep their order. Membership,
length, `sorted`, `min`, `max`, `sum`, `any` and `all` do not ask for the order.

Instead: a list or a dict; `dict.fromkeys(items)` drops duplicates and keeps the order; `sorted(names)` gives one.

No repair: eager has another order in every process, so that no run can show a rewrite to compute the same; which
order was meant only its author knows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Kind, Rule, Severity

if TYPE_CHECKING:
    from exportlint import Value

_LIST = "use a list or a dict; `dict.fromkeys(items)` drops duplicates and keeps the order"
_SORTED = "use `sorted(…)`, a tuple or a dict"
_ORDERED = frozenset({"builtins.list", "builtins.tuple", "builtins.enumerate", "builtins.zip", "builtins.iter"})
_ORDERED |= frozenset({"builtins.map", "builtins.filter", "torch.stack", "torch.cat", "builtins.reversed"})
_ANY_ORDER = frozenset({"sorted", "min", "max", "sum", "any", "all", "set", "frozenset", "len", "dict"})


class ContainerOrder(Rule):
    shown_by = ("other-process",)
    cases: ClassVar = {
        "BadSetOfTensors": Case("`{code}` is a set of tensors; they come out in the order of their addresses", _LIST),
        "BadSetOfNames": Case("`{code}` is a set; its order differs from process to process", _SORTED),
        "BadSetPop": Case("`{code}` takes whichever entry of the set comes first", _LIST),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is there a set at all?"""
        return any(value.container in {"set", "frozenset"} for value in code.sketch.values)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._made: dict[str, cst.BaseExpression] = {}

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in node.targets:
            if isinstance(target.target, cst.Name):
                self._made[target.target.value] = node.value

    def visit_For(self, node: cst.For) -> None:
        self._used(node.iter)

    def visit_GeneratorExp(self, node: cst.GeneratorExp) -> None:
        """Whoever takes the generator decides; `visit_Call` looks at those that keep its order."""

    def visit_ListComp(self, node: cst.ListComp) -> None:
        self._used(node.for_in.iter)

    def visit_DictComp(self, node: cst.DictComp) -> None:
        self._used(node.for_in.iter)

    def visit_StarredElement(self, node: cst.StarredElement) -> None:
        self._used(node.value)

    def visit_Call(self, node: cst.Call) -> bool | None:
        name = self.code.name(node.func) or ""
        for arg in node.args:
            if arg.star == "*" or name in _ORDERED:
                self._used(arg.value.for_in.iter if isinstance(arg.value, cst.GeneratorExp) else arg.value)
        if isinstance(node.func, cst.Attribute) and not node.args and node.func.attr.value == "pop":
            owner = self.code.value(node.func.value)
            if owner.container in {"set", "frozenset"} and self._case(owner):
                self.report(node, "BadSetPop")
        if isinstance(node.func, cst.Attribute) and node.func.attr.value == "join":
            for arg in node.args:
                self._used(arg.value)
        return not (name.startswith("builtins.") and name.removeprefix("builtins.") in _ANY_ORDER)

    def _used(self, node: cst.BaseExpression) -> None:
        value = self.code.value(node)
        if value.kind is Kind.CONTAINER and value.container in {"set", "frozenset"}:
            case = self._case(value)
            if case:
                self.report(self._set(node), case)
            elif value.element is None or value.element.kind is Kind.UNKNOWN:
                self.report(node, "BadSetOfNames", at_most=Severity.NOTE)

    def _set(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """The display of a set that got a name, for that is the line to change."""
        made = self._made.get(node.value) if isinstance(node, cst.Name) else None
        return made if isinstance(made, cst.Set | cst.SetComp) else node

    def _case(self, value: Value) -> str | None:
        element = value.element
        if element is None:
            return None
        if element.is_tensor:
            return "BadSetOfTensors"
        return "BadSetOfNames" if element.container == "str" else None
