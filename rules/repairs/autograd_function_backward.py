"""`ctx.saved_variables` is read by the name that it has today."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Applicability, Change, Repair, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator


class SavedTensors(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case == "BadSavedVariables" and isinstance(node, cst.Attribute) and self._is_context(node.value):
            change = Change(node.attr, "saved_tensors")
            yield Rewrite("read `saved_tensors`", (change,), Applicability.SAFE)

    def _is_context(self, node: cst.BaseExpression) -> bool:
        """Is it the first argument of the function around it?"""
        now: cst.CSTNode | None = node
        while now is not None and not isinstance(now, cst.FunctionDef):
            now = self.code.parent(now)
        first = now.params.params[:1] if now is not None else ()
        return isinstance(node, cst.Name) and [one.name.value for one in first] == [node.value]
