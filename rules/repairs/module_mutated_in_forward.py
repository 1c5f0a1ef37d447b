"""What prepares a module is done in `__init__`; a move to where an input lives is left out of the export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Repair, Rewrite, called
from exportlint.rewriting.made_once.moved_to_init import moved_guarded, moved_statement
from exportlint.rewriting.source.left_out import left_out
from exportlint.rewriting.state.removed_attribute import removed_attribute

if TYPE_CHECKING:
    from collections.abc import Iterator


_ONCE = frozenset({"BadToDtype", "BadToDevice"})


class PreparedBefore(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case == "BadDelAttribute" and (removed := removed_attribute(self.code, node)) is not None:
            yield Rewrite("keep in a buffer whether it is there", removed)
        ways = [moved_guarded(self.code, node)]
        if case in _ONCE:
            ways.append(moved_statement(self.code, node))
            if isinstance(node, cst.Call) and called(node) in {"to", "cuda", "cpu", "xpu"}:
                ways.append(left_out(self.code, node))
        yield from (one for one in ways if one is not None)
