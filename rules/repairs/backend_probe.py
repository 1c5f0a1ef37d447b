"""The machine is asked in `__init__`, and the answer kept as an option of the module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Repair, Rewrite
from exportlint.rewriting.made_once.made_before import asked_in_init

if TYPE_CHECKING:
    from collections.abc import Iterator


class AskedBefore(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        name = (self.code.name(node.func if isinstance(node, cst.Call) else node) or "").split(".")
        if case == "BadMemory" or not isinstance(node, cst.BaseExpression):
            return
        words = [word for word in name if word not in {"torch", "backends"}]
        if changes := asked_in_init(self.code, node, "_".join(words).removeprefix("is_") or "option"):
            yield Rewrite("ask in `__init__`", changes)
