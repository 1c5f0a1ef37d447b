"""ONNX by torch.export: `torch.onnx.export(…, dynamo=False)`, which traces, goes by the exporter that is the default.

The opset goes with it: the default exporter writes its own, and cannot make every older one of that.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from exportlint.engine.source.parsed import walked
from exportlint.rewrite.draft import changed_copy
from exportlint.rewrite.transformation import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rewrite.transformation import Site

_OF_THE_OLD = ("dynamo", "opset_version")


class OnnxByExport:
    """Everywhere in the file: what a trial found may stand where the file is run, or in the model."""

    def proposals(self, site: Site) -> Iterator[Proposal]:
        draft, found = site.draft(), False
        for node in walked(site.module.tree):
            if isinstance(node, ast.Call) and site.module.dotted(node.func) == "torch.onnx.export" and _is_old(node):
                kept = [one for one in node.keywords if one.arg not in _OF_THE_OLD]
                call, statement = changed_copy(node, keywords=kept), draft.statement_of(node)
                if isinstance(statement, ast.Expr) and statement.value is node:
                    draft.replace(statement, [changed_copy(statement, value=call)])
                else:
                    draft.swap(node, call)
                found = True
        if found:
            yield Proposal("export to ONNX with the default exporter", draft)


def _is_old(call: ast.Call) -> bool:
    return any(
        one.arg == "dynamo" and isinstance(one.value, ast.Constant) and not one.value.value for one in call.keywords
    )
