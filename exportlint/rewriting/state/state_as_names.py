"""A function in which attributes of self read as plain names, so that code for names serves for state too."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import libcst as cst

from exportlint.engine.values.abstract_value import TENSOR, Value
from exportlint.rewriting.source.assigned_names import every
from exportlint.rule.taint import ValuesUsed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from exportlint.rule.code import Code


OWN = "self__"  # stands for `self.` in a name
_ROUNDS = 3


@dataclass
class StateAsNames:
    """The code of a function with `self.calls` as one name, `self__calls`, which stands for a tensor.

    flags   attribute -> the flag that says whether it is set: `self__h is None` is read as `not self__h_set`
    dropped the lines of `if`s that go
    tree    the whole function; every node has the one that it was made of in `origin`
    """

    code: Code
    states: frozenset[str]
    flags: Mapping[str, str]
    root: cst.CSTNode
    dropped: frozenset[int] = frozenset()
    origin: dict[int, cst.CSTNode] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.code, name)

    @cached_property
    def tree(self) -> cst.CSTNode:
        new = self.root.visit(_Named(self))
        assert isinstance(new, cst.CSTNode)  # noqa: S101 - a name stands where an attribute stood
        return new

    def named(self, original: cst.CSTNode, updated: Any) -> Any:  # noqa: ARG002 - for views that read more as names
        """What stands for a node of the function."""
        return updated

    @cached_property
    def names(self) -> frozenset[str]:
        """The state, and what the function makes of its values."""
        found = set(self.states)
        assigns = [one for one in every(self.tree) if isinstance(one, cst.Assign)]
        for _ in range(_ROUNDS):
            for one in assigns:
                if found & values_of(one.value):
                    found |= {t.target.value for t in one.targets if isinstance(t.target, cst.Name)}
        return frozenset(found)

    def asks(self, test: cst.BaseExpression) -> bool:
        return bool(values_of(test) & self.names)

    def value(self, node: cst.CSTNode) -> Value:
        is_value = isinstance(node, cst.BaseExpression) and not isinstance(node, cst.Tuple | cst.List | cst.Dict)
        if is_value and values_of(node) & self.names:
            return TENSOR
        return self.code.value(self.origin.get(id(node), node))

    def name(self, node: cst.CSTNode) -> str | None:
        return self.code.name(self.origin.get(id(node), node))

    def source_of(self, node: cst.CSTNode) -> str:
        bare = (
            node.with_changes(lpar=[], rpar=[])
            if getattr(node, "lpar", ()) and not isinstance(node, cst.Tuple)
            else node
        )
        return cst.Module([]).code_for_node(bare)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return self._parents.get(id(node))

    @cached_property
    def _parents(self) -> dict[int, cst.CSTNode]:
        return {id(child): node for node in every(self.tree) for child in node.children}


class _Named(cst.CSTTransformer):
    def __init__(self, view: StateAsNames) -> None:
        super().__init__()
        self._view = view

    def on_leave(self, original_node: cst.CSTNode, updated_node: Any) -> Any:
        new = self._view.named(original_node, self._named(updated_node))
        self._view.origin[id(new)] = original_node
        return new

    def _named(self, node: cst.CSTNode) -> cst.CSTNode:
        match node:
            case cst.Attribute(value=cst.Name(value="self"), attr=cst.Name(value=name)) if (
                OWN + name in self._view.states
            ):
                return cst.Name(OWN + name, lpar=node.lpar, rpar=node.rpar)
            case cst.Comparison(
                left=cst.Name(value=name),
                comparisons=[cst.ComparisonTarget(operator=operator, comparator=cst.Name(value="None"))],
            ) if flag := self._view.flags.get(name):
                is_set = cst.Name(flag)
                return is_set if isinstance(operator, cst.IsNot) else cst.UnaryOperation(cst.Not(), is_set)
        return node


def values_of(node: cst.CSTNode) -> set[str]:
    """The names whose values it uses, in a tree in which state is named."""
    node.visit(used := ValuesUsed())
    return used.names
