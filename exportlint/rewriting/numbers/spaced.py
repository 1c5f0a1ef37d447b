"""`linspace` and `one_hot` with a number that data gives, made of `arange`, which takes one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_operand, as_owner, read_from
from exportlint.rule.editing.repair import Change, ModuleImport, Rewrite

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


def evenly_spaced(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`torch.linspace(a, b, n)`"""
    places = dict(zip(("start", "end", "steps"), (arg for arg in node.args if not arg.keyword), strict=False))
    words = {arg.keyword.value: arg for arg in node.args if arg.keyword}
    given = {**places, **words}
    if given.keys() - {"start", "end", "steps", "device"} or not {"start", "end", "steps"} <= given.keys():
        return
    start, end = (as_operand(code, given[word].value) for word in ("start", "end"))
    steps = _number(code, given["steps"].value)
    device = f", device={code.source_of(given['device'].value)}" if "device" in given else ""
    text = f"{start} + ({end} - {start}) * torch.arange({steps}{device}) / max({steps} - 1, 1)"
    alone = isinstance(code.parent(node), cst.Assign | cst.Return | cst.Arg)
    yield Rewrite("use `torch.arange`", (Change(node, text if alone else f"({text})"), ModuleImport("torch")))


def classes_compared(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`F.one_hot(x, n)` as a comparison with `torch.arange(n)`."""
    values = [
        arg.value for arg in node.args if not arg.keyword or arg.keyword.value in {"num_classes", "tensor", "input"}
    ]
    if len(values) != 2:  # noqa: PLR2004 - the labels and their number
        return
    owner = as_owner(code, values[0])
    classes = f"torch.arange({_number(code, values[1], bare=True)}, device={owner}.device)"
    change = Change(node, f"({owner}.unsqueeze(-1) == {classes}).long()")
    yield Rewrite("compare with all classes", (change, ModuleImport("torch")))


def _number(code: Code, node: cst.BaseExpression, *, bare: bool = False) -> str:
    """A number, or the value of a tensor as one."""
    if not code.value(node).is_tensor:
        return code.source_of(node) if bare else as_operand(code, node)
    tensor = read_from(code, node)
    return f"{as_owner(code, tensor if tensor is not None else node)}.item()"
