"""A table of sizes is computed in every call; a parameter with a known beginning is made in `__init__`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint import Repair
from exportlint.rewriting.made_once.moved_build import moved_build
from exportlint.rewriting.made_once.moved_to_init import moved_guarded
from exportlint.rewriting.state.recomputed import recomputed

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from exportlint import Rewrite


class BuiltBefore(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case == "BadNewBuffer":  # torch refuses it in eager where the attribute is there already
            return
        if case in {"BadRegisterBuffer", "BadPartRegisters"} and (found := recomputed(self.code, node)):
            yield found
        if (moved := moved_guarded(self.code, node)) is not None:
            yield moved
        elif (built := moved_build(self.code)) is not None:
            yield built
