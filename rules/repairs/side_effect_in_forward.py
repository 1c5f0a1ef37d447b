"""What is done for its effect alone is left out of the export."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Repair, root_name
from exportlint.rewriting.source.assigned_names import every
from exportlint.rewriting.source.left_out import left_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Rewrite


# What forward reads of these is state, of which no rewrite of a line makes a buffer.
_STATE = frozenset({"BadGlobalStatement", "BadNonlocalCount", "BadGlobalListRead", "BadMutableDefault"})


class EffectInEagerOnly(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case in _STATE and self._is_read(node):
            return
        if (found := left_out(self.code, node)) is not None:
            yield found

    def _is_read(self, node: cst.CSTNode) -> bool:
        """Does the function, or a class of the file, read what is changed here?"""
        name = _changed(node)
        reads = [
            one
            for one in ast.walk(self.code.module.tree)
            if isinstance(one, ast.Name) and one.id == name and isinstance(one.ctx, ast.Load)
        ]
        return name is None or len(reads) > self._reads_of(node, name)

    def _reads_of(self, node: cst.CSTNode, name: str) -> int:
        """Those in the statement itself."""
        return sum(isinstance(one, cst.Name) and one.value == name for one in every(node)) - isinstance(
            node, cst.Assign | cst.AugAssign
        )


def _changed(node: cst.CSTNode) -> str | None:
    """The name of the container or number."""
    match node:
        case cst.Call(func=cst.Attribute(value=owner)):
            return root_name(owner)
        case cst.Assign(targets=[cst.AssignTarget(target=target)]) | cst.AugAssign(target=target):
            return root_name(target)
    return None
