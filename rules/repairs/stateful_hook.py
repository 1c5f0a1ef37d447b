"""A number that a hook counts in becomes a registered buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import ClassInfo, Repair, Rewrite, path_on_self
from exportlint.rewriting.state.own_attribute import OwnAttribute
from exportlint.rewriting.state.registered import Registered

if TYPE_CHECKING:
    from collections.abc import Iterator


class CountedInBuffer(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        cls = self._class_of(node)
        if cls is None or not cls.is_module or not isinstance(node, cst.AugAssign):
            return
        if "." in (name := path_on_self(node.target)) or not name:
            return
        changes = Registered(self.code, OwnAttribute(cls, name)).changes()
        if changes is not None:
            yield Rewrite("keep it in a registered buffer", changes)

    def _class_of(self, node: cst.CSTNode) -> ClassInfo | None:
        line = self.code.place(node).line
        found = (
            one for one in self.code.module.classes.values() if one.node.lineno <= line <= (one.node.end_lineno or line)
        )
        return next(found, None)
