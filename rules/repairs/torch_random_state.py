"""Numbers that are alike in every call are drawn in `__init__`; seeding is left to eager."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Repair
from exportlint.rewriting.made_once.drawn_before import drawn_before
from exportlint.rewriting.source.left_out import left_out

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Rewrite


_GENERATORS = frozenset({"BadGeneratorMade", "BadGeneratorOnSelf", "BadGeneratorUsed"})
_SETTINGS = frozenset({"BadManualSeed", "BadSeed"})
_DRAWING = re.compile(r"rand|normal|bernoulli|multinomial|poisson|uniform_|exponential_|geometric_|fork_rng")


class DrawnBefore(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if case in _GENERATORS and isinstance(node, cst.Call):
            yield from drawn_before(self.code, node)
        draws = any(map(_DRAWING.search, self.code.sketch.methods))
        if case in _SETTINGS and not draws and (found := left_out(self.code, node)) is not None:
            yield found
