"""What a piece of source shows before libcst parses it: its `ast` nodes by type, with what the engine knows of each.

Parsing is most of what a rule costs, and most pieces have nothing for most rules. `Rule.concerns` asks a sketch.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from exportlint.engine.source.parsed import last_name
from exportlint.engine.source.symbols import BUILTINS
from exportlint.engine.values.abstract_value import UNKNOWN, Kind, Value, span_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from exportlint.engine.source.symbols import FunctionInfo, ModuleInfo
    from exportlint.engine.values.abstract_value import Belief


_Node = TypeVar("_Node", bound=ast.AST)
# libcst has one class for both.
_ASYNC_FORMS: dict[type[ast.AST], type[ast.AST]] = {ast.For: ast.AsyncFor, ast.With: ast.AsyncWith}


@dataclass(frozen=True, slots=True)
class Called:
    """A call. `origin` is the dotted origin of what is called, `method` its last name; "" where there is none.

    >>> import ast
    >>> call = Called(ast.parse("x.add_(y, alpha=2)", mode="eval").body, "", "add_")
    >>> ast.unparse(call.owner), [ast.unparse(argument) for argument in call.arguments]
    ('x', ['y', '2'])
    """

    node: ast.Call
    origin: str
    method: str

    @property
    def owner(self) -> ast.expr | None:
        """`x` of `x.add_(1)`."""
        return self.node.func.value if isinstance(self.node.func, ast.Attribute) else None

    @property
    def arguments(self) -> Iterator[ast.expr]:
        """The expressions that are handed over, by place or by name."""
        yield from self.node.args
        yield from (word.value for word in self.node.keywords)


class Sketch:
    """The `ast` nodes of a function, or of a whole file, with what the engine knows of each.

    >>> import ast
    >>> from exportlint.testing import code_of
    >>> sketch = code_of('''
    ... from torch import nn
    ... class Net(nn.Module):
    ...     def forward(self, x):
    ...         return x * x.shape[0]
    ... ''', "forward").sketch
    >>> [(ast.unparse(node), sketch.value(node).kind.value) for node in sketch.nodes(ast.Subscript)]
    [('x.shape[0]', 'size')]
    """

    def __init__(self, module: ModuleInfo, belief: Belief, function: FunctionInfo | None) -> None:
        self._module = module
        self._values = belief.values
        self._function = function
        self._nodes = module.parts.by_type(function.node) if function else module.parsed.by_type(module.tree)

    def nodes(self, kind: type[_Node]) -> Iterator[_Node]:
        """The nodes of this type, and their asynchronous twins."""
        kinds = (kind, _ASYNC_FORMS[kind]) if kind in _ASYNC_FORMS else (kind,)
        for each in kinds:
            yield from self._nodes.get(each, ())  # type: ignore[misc] # by_type puts each under its own type

    def value(self, node: ast.AST) -> Value:
        """What the expression is; UNKNOWN where the engine has no belief."""
        span = span_of(node)
        return self._values.get(span, UNKNOWN) if span else UNKNOWN

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """All that the engine believes about expressions of the piece."""
        spans = map(span_of, (node for nodes in self._nodes.values() for node in nodes))
        return tuple(self._values[span] for span in spans if span in self._values)

    @cached_property
    def calls(self) -> tuple[Called, ...]:
        return tuple(Called(node, self.name(node.func) or "", last_name(node.func)) for node in self.nodes(ast.Call))

    @cached_property
    def origins(self) -> frozenset[str]:
        """The dotted origins of what is called."""
        return frozenset(call.origin for call in self.calls)

    @cached_property
    def methods(self) -> frozenset[str]:
        """The last names of what is called."""
        return frozenset(call.method for call in self.calls)

    def name(self, node: ast.expr) -> str | None:
        """The dotted origin of a name or attribute, as `Code.name` gives it."""
        parts: list[str] = []
        while isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        root = self.origin(node.id, self.value(node)) if isinstance(node, ast.Name) else None
        return ".".join((root, *reversed(parts))) if root else None

    def origin(self, name: str, value: Value) -> str | None:
        """What a plain name stands for; `value` is what the engine knows of it."""
        if name in self.bound:
            is_name = value.kind in {Kind.FUNCTION, Kind.CLASS, Kind.UNKNOWN} and value.owner is None
            return value.name if is_name else None
        shadowed = name in self._module.assignments and name not in self._module.imports
        return self._module.origin(name) if name in BUILTINS or not shadowed else None

    @cached_property
    def bound(self) -> frozenset[str]:
        """The names a function binds: parameters and targets, those of nested functions included."""
        return frozenset(self._bound()) if self._function else frozenset()

    def _bound(self) -> Iterator[str]:
        yield from (node.id for node in self.nodes(ast.Name) if isinstance(node.ctx, ast.Store))
        yield from (node.arg for node in self.nodes(ast.arg))
        yield from (node.name for node in self.nodes(ast.ExceptHandler) if node.name)

    def holds_data(self, nodes: Iterable[ast.AST]) -> bool:
        """Is one of the expressions, or what it contains, a tensor or a number that was read from one?"""
        values = map(self.value, nodes)
        return any(value.is_data or (value.element is not None and value.element.is_data) for value in values)

    def targets(self) -> Iterator[ast.Attribute | ast.Subscript]:
        """The attributes and items that are assigned to or deleted."""
        yield from (node for node in self.nodes(ast.Attribute) if not isinstance(node.ctx, ast.Load))
        yield from (node for node in self.nodes(ast.Subscript) if not isinstance(node.ctx, ast.Load))


def asked_for_truth(sketch: Sketch) -> Iterator[ast.expr]:
    """The expressions whose truth decides something: tests, and the operands of `and`, `or` and `not`.

    >>> import ast
    >>> from exportlint.testing import code_of
    >>> sketch = code_of("import torch\\nif a or not b: pass").sketch
    >>> [ast.unparse(node) for node in asked_for_truth(sketch)]
    ['a or not b', 'a', 'not b', 'b']
    """
    yield from (node.test for node in sketch.nodes(ast.If))
    yield from (node.test for node in sketch.nodes(ast.While))
    yield from (node.test for node in sketch.nodes(ast.IfExp))
    yield from (node.test for node in sketch.nodes(ast.Assert))
    yield from (operand for node in sketch.nodes(ast.BoolOp) for operand in node.values)
    yield from (node.operand for node in sketch.nodes(ast.UnaryOp) if isinstance(node.op, ast.Not))
    yield from (test for node in sketch.nodes(ast.comprehension) for test in node.ifs)
    yield from (case.guard for node in sketch.nodes(ast.Match) for case in node.cases if case.guard)
