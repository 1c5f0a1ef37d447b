"""Both sides of a decision by a size are computed, a check stays in the program, rows are computed at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import ModuleImport, Repair, Rewrite
from exportlint.rewriting.decisions.size_branch import selected_by_size
from exportlint.rewriting.iteration.all_rows import all_rows_at_once
from exportlint.rewriting.iteration.counted_loop import counted_loop
from exportlint.rewriting.iteration.loops_on_data import operator_loop

if TYPE_CHECKING:
    from collections.abc import Iterator


class SelectedBySize(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case:
            case "BadIfNumel" | "BadTernarySize" | "BadAssertSize" | "BadIfRaiseSize":
                yield from selected_by_size(self.code, node)
            case "BadForShape" | "BadForRows" | "BadForZipped" | "BadForCount" if isinstance(node, cst.BaseExpression):
                yield from all_rows_at_once(self.code, node)
                yield from counted_loop(self.code, node)
            case "BadWhileSize":
                yield from self._while(node)

    def _while(self, node: cst.CSTNode) -> Iterator[Rewrite]:
        above = self.code.parent(node)
        if isinstance(above, cst.While) and (changes := operator_loop(self.code, above)) is not None:
            yield Rewrite("loop with `while_loop`", (*changes, ModuleImport("torch")))
