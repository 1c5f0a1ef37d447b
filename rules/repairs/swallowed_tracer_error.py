"""What a handler waits for is asked and selected; one that catches the tracer goes, with the decision it guards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Repair
from exportlint.rewriting.decisions.tried import asserted, handled_only, reported, returned_early, untried

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Rewrite


class NothingSwallowed(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        block = self._block(node)
        match case, block:
            case "BadCholesky", cst.Try():
                yield from reported(self.code, block)
            case "BadAssertCaught", cst.Try():
                yield from asserted(self.code, block)
            case "BadIndexOutOfRange" | "BadShapeFallback" | "BadMissingKwarg", cst.Try():
                yield from handled_only(self.code, block)
            case "BadExceptException" | "BadSuppress" | "BadFinally", cst.Try() | cst.With():
                yield from untried(self.code, block)
                if isinstance(block, cst.Try):
                    yield from returned_early(self.code, block)

    def _block(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The `try` of a handler, or the `with` of a context."""
        now: cst.CSTNode | None = node
        while now is not None and not isinstance(now, cst.Try | cst.With):
            now = self.code.parent(now)
        return now
