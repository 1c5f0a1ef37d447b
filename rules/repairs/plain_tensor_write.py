"""The tensor becomes a registered buffer."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Repair, Rewrite, dotted, written_in_place
from exportlint.rewriting.state.held_tensors import HeldTensors
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.registered import Registered

if TYPE_CHECKING:
    from collections.abc import Iterator


class WrittenBuffer(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        name = next((found for one in written_in_place(node) if (found := self._attribute(one))), None)
        if name is None or self.code.cls is None:
            return
        own = OwnAttribute(self.code.cls, name)
        changes = Registered(self.code, own).changes() or HeldTensors(self.code, own).changes()
        if changes is not None:
            yield Rewrite("make it a registered buffer", changes)

    def _attribute(self, node: cst.CSTNode) -> str | None:
        """The "mean" of `self.mean[0]`, `self.mean.mul_(2)` and of a name that is set to a part of it."""
        while isinstance(node, cst.Subscript | cst.Call | cst.Attribute):
            if isinstance(node, cst.Attribute) and dotted(node.value) == "self":
                return node.attr.value
            node = node.func if isinstance(node, cst.Call) else node.value
        return self._held_by(node.value) if isinstance(node, cst.Name) else None

    def _held_by(self, name: str) -> str | None:
        """What the function sets the name to, once."""
        assigns = [one.value for one in self.code.sketch.nodes(ast.Assign) if name in _names(one.targets)]
        loops = [one.iter for one in self.code.sketch.nodes(ast.For) if name in _names([one.target])]
        found = [*assigns, *loops]
        return _attribute_of(found[0]) if len(found) == 1 else None


def _names(targets: list[ast.expr]) -> set[str]:
    return {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}


def _attribute_of(node: ast.expr) -> str | None:
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"zip", "enumerate", "reversed"}
    ):
        node = node.args[0] if len(node.args) == 1 else node
    while isinstance(node, ast.Subscript | ast.Call | ast.Attribute):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            return node.attr if node.value.id == "self" else None
        node = node.func if isinstance(node, ast.Call) else node.value
    return None
