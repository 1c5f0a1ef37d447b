"""Pieces of a tensor that are cut by a number which data gives: each is a slice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rewriting.numbers.numbers_of_tensors import as_operand, as_owner
from exportlint.rule.editing.repair import Change, Rewrite
from exportlint.rule.patterns import called

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.rule.code import Code


def first_piece(code: Code, node: cst.Call) -> Iterator[Rewrite]:
    """`x.split(n)[0]` as `x[:n]`, `first, rest = x.chunk(2)` as two slices."""
    found = _cut(code, node)
    if found is None:
        return
    owner, given, before = found
    method, above = called(node), code.parent(node)
    size = f"{owner}.shape[{before.count(':')}]"
    length = f" {given}" if method == "split" else f" -(-{size} // {given})"
    match above:
        case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=cst.Integer(value="0")))]):
            text = f"{owner}[0]" if method == "unbind" else f"{owner}[{before}:{length}]"
            yield Rewrite("take a slice", (Change(above, text),))
        case cst.Assign(targets=[cst.AssignTarget(target=cst.Tuple(elements=[_, _]))]) if method in {
            "chunk",
            "tensor_split",
        }:
            if given == "2":
                yield Rewrite(
                    "take slices", (Change(node, f"{owner}[{before}:{length}], {owner}[{before}{length.strip()} :]"),)
                )


def _cut(code: Code, node: cst.Call) -> tuple[str, str, str] | None:
    """The tensor, the number of the pieces or their size, and what an index says of the dims before."""
    arguments = [arg.value for arg in node.args if not arg.keyword]
    words = {arg.keyword.value: arg.value for arg in node.args if arg.keyword}
    if isinstance(node.func, cst.Attribute) and not (code.name(node.func) or "").startswith("torch."):
        arguments = [node.func.value, *arguments]
    given = [
        *arguments[1:2],
        *(words[key] for key in ("chunks", "split_size_or_sections", "split_size") if key in words),
    ]
    if called(node) == "unbind":
        first = all(code.source_of(one) == "0" for one in (*arguments[1:], *words.values()))
        return (as_owner(code, arguments[0]), "", "") if arguments and first else None
    dims = [*arguments[2:], *(words[key] for key in ("dim",) if key in words)]
    dim = code.source_of(dims[0]) if dims else "0"
    if not arguments or not given or not dim.isdigit():
        return None
    return as_owner(code, arguments[0]), as_operand(code, given[0]), ":, " * int(dim)
