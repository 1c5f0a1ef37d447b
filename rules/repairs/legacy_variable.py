"""`Variable(x)` is `x`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, Repair, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator


class PlainTensor(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        del case
        match node:
            case cst.Call(args=[cst.Arg(value=inner, keyword=None, star=""), *flags]) if all(map(_is_off, flags)):
                text = self.source(inner)
                is_atom = isinstance(inner, cst.Name | cst.Attribute | cst.Subscript | cst.Call)
                yield Rewrite("use the tensor itself", (Change(node, text if is_atom else f"({text})"),))


def _is_off(arg: cst.Arg) -> bool:
    """`requires_grad=False`; `volatile` has had no meaning since torch 0.4."""
    name = arg.keyword.value if arg.keyword else ""
    return name == "volatile" or (
        name == "requires_grad" and isinstance(arg.value, cst.Name) and arg.value.value == "False"
    )
