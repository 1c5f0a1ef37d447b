# ruff: noqa: N802  # libcst names its visitors visit_Name
"""Which names of a function are made from the values of which others. Shapes, dtypes and lengths are not values."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, TypeAlias

import libcst as cst

from exportlint.engine.source.parsed import walked
from exportlint.engine.source.symbols import FunctionInfo
from exportlint.rule.patterns import called, dotted, flat_targets, text_argument
from exportlint.rule.syntax.walk import Visitor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


_METADATA = frozenset({"shape", "dtype", "device", "ndim", "size", "dim", "numel", "is_cuda", "training", "layout"})
_LIKE = frozenset(
    {"zeros_like", "ones_like", "empty_like", "full_like", "rand_like", "randn_like", "len", "isinstance"}
)
_ROUNDS = 3  # enough for the chains people write inside loops
_CALLS_DEEP = 4  # helpers of helpers; further down a value counts as used
_Read: TypeAlias = "dict[tuple[ast.AST, int], frozenset[str]]"


class ValuesUsed(Visitor):
    """The names whose values an expression uses, and the attributes of self as paths ("state", "meter.count").

    Visit an expression with it and read `names` and `own`; `own` holds "*" for a `getattr` with a computed name.
    `function_of` tells which function of the project an expression that is called stands for, if any: what such a
    function asks for nothing but a shape, a dtype or a device is not a value that is used.

    >>> import libcst as cst
    >>> used = ValuesUsed()
    >>> _ = cst.parse_expression("self.meter.count + len(x) + y").visit(used)
    >>> sorted(used.names), sorted(used.own)
    (['y'], ['meter', 'meter.count'])
    """

    def __init__(self, function_of: Callable[[cst.BaseExpression], FunctionInfo | None] | None = None) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.own: set[str] = set()
        self._function_of = function_of

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
        function = self._function_of(node.func) if self._function_of else None
        if function is None or any(arg.star for arg in node.args):
            return called(node) not in _LIKE
        node.func.visit(self)
        read = _values_read(function, _CALLS_DEEP, {})
        places = _given_by_place(function)
        for place, arg in enumerate(node.args):
            name = arg.keyword.value if arg.keyword else places[place] if place < len(places) else None
            if name is None or name in read:
                arg.value.visit(self)
        return False

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)


def _values_read(function: FunctionInfo, deep: int, known: _Read) -> frozenset[str]:
    """The parameters of which a function reads more than shape, dtype and device, itself or in what it calls. `known`:
    of functions that were asked about before, which many call."""
    if (function.node, deep) not in known:
        known[function.node, deep] = _read_in(function, deep, known)
    return known[function.node, deep]


def _read_in(function: FunctionInfo, deep: int, known: _Read) -> frozenset[str]:
    arguments = function.node.args
    named = {one.arg for one in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
    if not deep or function.decorators:  # a decorator may give it other arguments
        return frozenset(named)
    harmless = {name for node in walked(function.node) for name in _metadata_only(function, node, deep, known)}
    return frozenset(
        node.id
        for node in walked(function.node)
        if isinstance(node, ast.Name) and node.id in named and node not in harmless
    )


def _metadata_only(function: FunctionInfo, node: ast.AST, deep: int, known: _Read) -> Iterator[ast.AST]:
    """The names right below a node of which it reads no values."""
    match node:
        case ast.Attribute(value=ast.Name() as asked, attr=attr) if attr in _METADATA or attr.startswith("new_"):
            yield asked
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=given) if name in _LIKE:
            yield from given
        case ast.Call(func=func, args=given, keywords=words):
            below = _called_in(function, func)
            if below is None or any(isinstance(one, ast.Starred) for one in given) or not all(w.arg for w in words):
                return
            read, places = _values_read(below, deep - 1, known), _given_by_place(below)
            yield from (one for name, one in zip(places, given, strict=False) if name not in read)
            yield from (word.value for word in words if word.arg not in read)


def _called_in(function: FunctionInfo, func: ast.expr) -> FunctionInfo | None:
    match func:
        case ast.Attribute(value=ast.Name(id="self"), attr=name) if function.cls:
            return function.cls.method(name)
    found = function.module.project.find(function.module.dotted(func) or "")
    return found if isinstance(found, FunctionInfo) else None


def _given_by_place(function: FunctionInfo) -> tuple[str, ...]:
    """The parameters that a call fills by place; `self` is there before it."""
    return function.parameters[1:] if function.cls is not None else function.parameters


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
