"""A container of the caller is copied where torch exports, since no program can reach the caller's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint import Repair
from exportlint.rewriting.interface.copied_for_export import copied_for_export

if TYPE_CHECKING:
    from collections.abc import Iterator

    import libcst as cst

    from exportlint import Rewrite


class ContainerCopiedForExport(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if (found := copied_for_export(self.code, node)) is not None:
            yield found
