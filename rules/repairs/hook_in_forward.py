"""A backward hook is no part of a program: it is registered in eager only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint import Repair
from exportlint.rewriting.source.left_out import left_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from exportlint import Rewrite


class HookInEagerOnly(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case == "BadFullBackwardHook" and (found := left_out(self.code, node)) is not None:
            yield found
