"""Slices, masks and comparisons in the place of operations that must know how many rows data leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite, called
from exportlint.rewriting.context.certainty import where_certain
from exportlint.rewriting.numbers.first_piece import first_piece
from exportlint.rewriting.numbers.numbers_of_tensors import as_owner
from exportlint.rewriting.numbers.selected_rows import selected_rows
from exportlint.rewriting.numbers.spaced import classes_compared, evenly_spaced
from exportlint.rewriting.operations.masked_write import masked_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from exportlint import Code

_TORCH = ModuleImport("torch")
_OF_CALLS: dict[str, Callable[[Code, cst.Call], Iterable[Rewrite]]] = {
    "BadLinspace": evenly_spaced,
    "BadOneHotClasses": classes_compared,
    "BadChunkRows": first_piece,
    "BadSplitRows": first_piece,
    "BadTensorSplitRows": first_piece,
    "BadUnbindRows": first_piece,
}


class NoSizeNeeded(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match case, node:
            case "BadLen", cst.Call(args=[cst.Arg(value=given, star="")]):
                change = Change(node, f"{as_owner(self.code, given)}.shape[0]")
                yield Rewrite("take the size from its shape", (change,), where_certain(self.code, given))
            case _, cst.Call() if case in _OF_CALLS:
                yield from _OF_CALLS[case](self.code, node)
            case "BadRollRows", cst.Call():
                yield from self._rolled(node)
            case "BadDiffRows", cst.Call():
                yield from self._differences(node)
            case "BadCdistRows", cst.Call(args=[cst.Arg(value=left), cst.Arg(value=right)]):
                a, b = as_owner(self.code, left), as_owner(self.code, right)
                text = f"torch.linalg.vector_norm({a}.unsqueeze(-2) - {b}.unsqueeze(-3), dim=-1)"
                yield Rewrite("compute the distances from differences", (Change(node, text), _TORCH))
            case "BadLogSumExpRows", cst.Call():
                yield from self._logsumexp(node)
            case "BadGroupNormRows" | "BadBatchNormRows", cst.Call():
                yield from self._normalised(node)
            case "BadSliceWrite" | "BadSliceWriteTensor", cst.BaseSmallStatement():
                yield from masked_write(self.code, node)

    def _given(self, node: cst.Call, *names: str) -> Mapping[str, cst.BaseExpression]:
        """The arguments by their names, the tensor as "input"."""
        plain = [arg.value for arg in node.args if not arg.keyword]
        if isinstance(node.func, cst.Attribute) and not (self.code.name(node.func) or "").startswith("torch."):
            plain = [node.func.value, *plain]
        words = {arg.keyword.value: arg.value for arg in node.args if arg.keyword}
        return {**dict(zip(("input", *names), plain, strict=False)), **words}

    def _rolled(self, node: cst.Call) -> Iterator[Rewrite]:
        """`kept.roll(1, 0)`: the last row, and the others."""
        given = self._given(node, "shifts", "dims")
        if not {"input", "shifts", "dims"} <= given.keys():
            return
        owner, shift, dim = as_owner(self.code, given["input"]), given["shifts"], self.source(given["dims"])
        if not dim.isdigit() or isinstance(shift, cst.Tuple | cst.List):
            return
        before = ":, " * int(dim)
        turned = self._negated(shift)
        text = f"torch.cat([{owner}[{before}{turned}:], {owner}[{before}:{turned}]], {dim})"
        yield Rewrite("join two slices", (Change(node, text), _TORCH))

    def _negated(self, shift: cst.BaseExpression) -> str:
        if isinstance(shift, cst.UnaryOperation) and isinstance(shift.operator, cst.Minus):
            return as_owner(self.code, shift.expression)
        return f"-{as_owner(self.code, shift)}" if not isinstance(shift, cst.Integer) else f"-{shift.value}"

    def _differences(self, node: cst.Call) -> Iterator[Rewrite]:
        given = self._given(node, "n", "dim")
        dim = self.source(given["dim"]) if "dim" in given else "-1"
        if not given.keys() <= {"input", "dim"} or not (dim.isdigit() or dim == "-1"):
            return
        owner = as_owner(self.code, given["input"])
        before = "..., " if dim == "-1" else ":, " * int(dim)
        text = f"({owner}[{before}1:] - {owner}[{before}:-1])"
        yield Rewrite("subtract slices", (Change(node, text),))

    def _logsumexp(self, node: cst.Call) -> Iterator[Rewrite]:
        given = self._given(node, "dim", "keepdim")
        found = selected_rows(self.code, given["input"])
        if found is None or "dim" not in given or self.source(given["dim"]) != "0" or called(node) != "logsumexp":
            return
        owner, mask = found
        rest = ", ".join(["0", *(f"keepdim={self.source(given[word])}" for word in ("keepdim",) if word in given)])
        for wide in (f"({mask}).reshape(-1, *[1] * ({owner}.dim() - 1))", mask):
            text = f"{owner}.masked_fill(~{wide if wide != mask else f'({mask})'}, float('-inf')).logsumexp({rest})"
            yield Rewrite("mask in the place of selecting", (Change(node, text),))

    def _normalised(self, node: cst.Call) -> Iterator[Rewrite]:
        """A layer that treats each row for itself may run before the selection."""
        if not node.args or (found := selected_rows(self.code, node.args[0].value)) is None:
            return
        owner, mask = found
        rest = [self.source(arg).rstrip(", ") for arg in node.args[1:]]
        text = f"{self.source(node.func)}({', '.join([owner, *rest])})[{mask}]"
        batch = (self.code.value(node.func).name or "").startswith("torch.nn.BatchNorm")
        when = ", which is the same in eval mode" if batch else ""
        yield Rewrite(f"normalise before the selection{when}", (Change(node, text),))
