"""Take operands out of a call of an operator: the functions close over them instead."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.interface.run_functions import RunFunction
from exportlint.rule.editing.repair import Change

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from exportlint.rule.code import Code
    from exportlint.rule.editing.repair import AnyChange


_ATOMS = (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.Integer, cst.Float, cst.SimpleString)


@dataclass(frozen=True)
class ClosedOver:
    """A tuple of operands, the functions that are given them, and the places of the operands that go."""

    code: Code
    operands: cst.Tuple | cst.List
    functions: Sequence[cst.BaseExpression]
    gone: Collection[int]

    def changes(self) -> tuple[AnyChange, ...] | None:
        """None where a function takes something else, or has a name of what it would close over."""
        changes = [self._function(one) for one in self.functions]
        if any(one is None for one in changes):
            return None
        return (Change(self.operands, self._kept()), *(one for several in changes for one in several or ()))

    @property
    def _parts(self) -> list[cst.BaseExpression]:
        return [element.value for element in self.operands.elements]

    def _kept(self) -> str:
        kept = [self.code.source_of(part) for i, part in enumerate(self._parts) if i not in self.gone]
        inner = f"{kept[0]}," if len(kept) == 1 else ", ".join(kept)
        return inner if isinstance(self.operands, cst.Tuple) and self.operands.lpar else f"({inner})"

    def _closed(self) -> dict[int, str]:
        texts = {i: self.code.source_of(part) for i, part in enumerate(self._parts) if i in self.gone}
        return {i: text if isinstance(self._parts[i], _ATOMS) else f"({text})" for i, text in texts.items()}

    def _function(self, node: cst.BaseExpression) -> list[AnyChange] | None:
        params = self._params(node)
        if params is None or self._is_hidden(params):
            return None
        known = RunFunction.given(self.code, node)
        if isinstance(node, cst.Lambda):
            return [*known.without_parameters(self._closed())] if known else None
        kept = ", ".join(name for i, name in enumerate(params) if i not in self.gone)
        given = [self._closed().get(i, name) for i, name in enumerate(params)]
        head = f"lambda {kept}:" if kept else "lambda:"
        return [Change(node, f"{head} {self.code.source_of(node)}({', '.join(given)})")]

    def _params(self, node: cst.BaseExpression) -> list[str] | None:
        known = RunFunction.given(self.code, node)
        if known is None:
            names = [part.value if isinstance(part, cst.Name) else f"operand_{i}" for i, part in enumerate(self._parts)]
            return names if len({*names}) == len(names) else None
        return known.branch.params if len(known.branch.params) == len(self._parts) else None

    def _is_hidden(self, params: Sequence[str]) -> bool:
        """Does a parameter have the name of something in what it would close over, and is something else?"""
        names = {name for i in self.gone for name in _names(self._parts[i])}
        kept = (i for i, name in enumerate(params) if i not in self.gone and name in names)
        return any(getattr(self._parts[i], "value", None) != params[i] for i in kept)


def _names(node: cst.CSTNode) -> Iterator[str]:
    if isinstance(node, cst.Name):
        yield node.value
    for child in node.children:
        yield from _names(child)
