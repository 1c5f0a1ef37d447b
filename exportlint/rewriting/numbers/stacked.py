"""`torch.tensor` of a list of tensors as `torch.stack`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


def stacked(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`torch.tensor([a.mean(), 0.5])` as `torch.stack([a.mean(), torch.tensor(0.5)])`."""
    given, *more = node.args
    words = [code.source_of(arg.value) for arg in more if arg.keyword and arg.keyword.value in {"dtype", "device"}]
    if len(words) != len(more):
        return
    text = _text(code, given.value) + (f".to({', '.join(words)})" if words else "")
    for start in (text, text.replace("torch.stack(", "torch.cat(", 1)):
        yield Rewrite("join the tensors", (Change(node, start), ModuleImport("torch")))


def _text(code: Code, node: cst.BaseExpression) -> str:
    if not isinstance(node, cst.List | cst.Tuple):
        return f"torch.stack({code.source_of(node)})"
    parts = [_element(code, one.value) for one in node.elements]
    return f"torch.stack([{', '.join(parts)}])"


def _element(code: Code, node: cst.BaseExpression) -> str:
    if isinstance(node, cst.List | cst.Tuple):
        return _text(code, node)
    return code.source_of(node) if code.value(node).is_tensor else f"torch.tensor({code.source_of(node)})"
