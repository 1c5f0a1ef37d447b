# ruff: noqa: N802  # libcst names its visitors visit_Name
"""Which names of a function are made from the values of which others. Shapes, dtypes and lengths are not values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.patterns import called, dotted, flat_targets, text_argument
from exportlint.rule.syntax.walk import Visitor

if TYPE_CHECKING:
    from collections.abc import Callable


_METADATA = frozenset({"shape", "dtype", "device", "ndim", "size", "dim", "numel", "is_cuda", "training", "layout"})
_LIKE = frozenset(
    {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "len", "isinstance"}
)
_ROUNDS = 3  # enough for the chains people write inside loops


class ValuesUsed(Visitor):
    """The names whose values an expression uses, and the attributes of self as paths ("state", "meter.count").

    Visit an expression with it and read `names` and `own`; `own` holds "*" for a `getattr` with a computed name.

    >>> import libcst as cst
    >>> used = ValuesUsed()
    >>> _ = cst.parse_expression("self.meter.count + len(x) + y").visit(used)
    >>> sorted(used.names), sorted(used.own)
    (['y'], ['meter', 'meter.count'])
    """

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.own: set[str] = set()

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        if node.attr.value in _METADATA or node.attr.value.startswith("new_"):
            return False
        if path := path_on_self(node):
            self.own.update({path, path.partition(".")[0]})
        else:
            node.value.visit(self)
        return False

    def visit_Call(self, node: cst.Call) -> bool:
        if called(node) == "getattr":
            self.own.add(text_argument(node, 1) or "*")
        return called(node) not in _LIKE

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)


class _Flow(Visitor):
    """The parameters of a function, the names it reads, and which names are made from which."""

    def __init__(self) -> None:
        super().__init__()
        self.parameters: set[str] = set()
        self.names: list[cst.Name] = []
        self.made: list[tuple[set[str], set[str]]] = []

    def visit_Param(self, node: cst.Param) -> None:
        self.parameters.add(node.name.value)

    def visit_Assign(self, node: cst.Assign) -> None:
        self._make(node, node.value)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._make(node, node.value)

    def visit_For(self, node: cst.For) -> None:
        self._make(node, node.iter)

    def visit_Name(self, node: cst.Name) -> None:
        self.names.append(node)

    def _make(self, node: cst.CSTNode, value: cst.BaseExpression) -> None:
        value.visit(used := ValuesUsed())
        self.made.append(({t.value for t in flat_targets(node) if isinstance(t, cst.Name)}, used.names))


def made_from_inputs(function: cst.CSTNode, is_tensor: Callable[[cst.Name], bool]) -> set[str]:
    """The parameters for which `is_tensor` holds somewhere, and all names that are made from their values.

    >>> import libcst as cst
    >>> function = cst.parse_statement('''
    ... def forward(self, x, scale):
    ...     size = x.shape[0]
    ...     y = x * scale
    ... ''')
    >>> sorted(made_from_inputs(function, lambda name: name.value == "x"))
    ['x', 'y']
    """
    function.visit(flow := _Flow())
    names = {name.value for name in flow.names if name.value in flow.parameters and is_tensor(name)}
    for _ in range(_ROUNDS):
        names |= {target for targets, values in flow.made if values & names for target in targets}
    return names


def path_on_self(node: cst.CSTNode) -> str:
    """The path of an attribute of self, else the empty string.

    >>> import libcst as cst
    >>> path_on_self(cst.parse_expression("self.meter.count")), path_on_self(cst.parse_expression("meter.count"))
    ('meter.count', '')
    """
    name = dotted(node) or ""
    return name.removeprefix("self.") if name.startswith("self.") else ""
