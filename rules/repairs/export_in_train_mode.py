"""The model is put in eval mode where it is given to the export."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, Repair, Rewrite, argument

if TYPE_CHECKING:
    from collections.abc import Iterator

_ATOMS = cst.Name | cst.Attribute | cst.Call | cst.Subscript


class EvalMode(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        del case
        target = argument(node, 0, "mod") if isinstance(node, cst.Call) else None
        match target:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="train"))):
                text = f"{self.source(owner)}.eval()"
            case cst.BaseExpression():
                source = self.source(target)
                text = f"{source}.eval()" if isinstance(target, _ATOMS) else f"({source}).eval()"
            case _:
                return
        yield Rewrite("call `.eval()` before the export", (Change(target, text),))
