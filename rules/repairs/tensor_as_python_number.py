"""A number stays in its tensor, or is read as a symbol that export carries along, by `.item()`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, ModuleImport, Repair, Rewrite, Where, called
from exportlint.rewriting.as_tensors.function_numbers import function_numbers
from exportlint.rewriting.decisions.kept_in_names import read_names
from exportlint.rewriting.decisions.selection import selected_expression, selected_statement
from exportlint.rewriting.iteration.counted_loop import counted_loop
from exportlint.rewriting.numbers.counted_values import distinct, entries_counted
from exportlint.rewriting.numbers.first_piece import first_piece
from exportlint.rewriting.numbers.numbers_of_tensors import (
    as_float_number,
    as_owner,
    as_whole_number,
    as_whole_tensor,
    as_wide_tensor,
    is_whole,
    meets_tensor,
    read_from,
)
from exportlint.rewriting.operations.lookups import entry_of_dict, entry_of_layers, entry_of_list
from exportlint.rewriting.operations.selected_place import selected_places
from exportlint.rewriting.operations.tensor_math import as_torch_math
from exportlint.rewriting.source.assigned_names import statement_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exportlint import AnyChange, Code


_TORCH = ModuleImport("torch")
_OF_CALLS: dict[str, Callable[[Code, cst.Call], Iterable[Rewrite]]] = {
    "BadMath": as_torch_math,
    "BadMathItem": as_torch_math,
    "BadMathLog": as_torch_math,
    "BadSetOfValues": distinct,
    "BadCounter": entries_counted,
    "BadRange": counted_loop,
    "BadChunk": first_piece,
}
_AS_TENSOR = "leave it in the tensor"
_AS_SYMBOL = "read it with `.item()`"


class NumberKeptInTensor(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        yield from self._of_node(node, case)
        yield from function_numbers(self.code)

    def _of_node(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match node:
            case cst.Subscript(slice=[cst.SubscriptElement(slice=cst.Index(value=index))]) if case != "BadIndexList":
                yield from self._looked_up(node, index, case)
            case cst.Subscript():
                yield from self._indexed(node)
            case cst.Call(args=[cst.Arg(value=given), *_]):
                yield from self._called(node, given, case)
            case cst.Comparison():
                yield from self._member(node)
            case cst.BinaryOperation():
                yield from self._repeated(node)

    def _called(self, node: cst.Call, given: cst.BaseExpression, case: str) -> Iterator[Rewrite]:
        match case:
            case "BadInt" | "BadIntOfItem":
                yield from self._whole(node, given)
            case "BadFloat" | "BadFloatOfItem":
                yield from self._float(node, given)
            case "BadComplex" if meets_tensor(self.code, node):
                yield Rewrite(_AS_TENSOR, (Change(node, f"{as_owner(self.code, given)}.to(torch.complex64)"), _TORCH))
            case "BadDictGet":
                yield from self._defaulted(node, given)
            case "BadItemInterpolate":
                yield from self._resized(node, given)
            case "BadOneHot":
                yield from self._one_hot(node, given)
            case _ if case in _OF_CALLS:
                yield from _OF_CALLS[case](self.code, node)

    def _whole(self, node: cst.Call, given: cst.BaseExpression) -> Iterator[Rewrite]:
        """`int(…)`"""
        tensor = read_from(self.code, given)
        if tensor is None:
            text = self.source(given) if is_whole(self.code, given) else f"torch.sym_int({self.source(given)})"
            yield Rewrite("let the number stay a symbol", (Change(node, text), _TORCH))
            return
        if meets_tensor(self.code, node):
            yield Rewrite(_AS_TENSOR, (Change(node, as_whole_tensor(self.code, tensor)),))
        if changes := selected_places(self.code, node, tensor):
            yield Rewrite("select with the tensor", changes)
        yield Rewrite(_AS_SYMBOL, (Change(node, as_whole_number(self.code, tensor)),))

    def _float(self, node: cst.Call, given: cst.BaseExpression) -> Iterator[Rewrite]:
        """`float(…)`"""
        tensor = read_from(self.code, given)
        if tensor is None:
            yield Rewrite(
                "let the number stay a symbol", (Change(node, f"torch.sym_float({self.source(given)})"), _TORCH)
            )
            return
        if meets_tensor(self.code, node):
            yield Rewrite(_AS_TENSOR, (Change(node, as_owner(self.code, tensor)),))
        yield Rewrite(_AS_SYMBOL, (Change(node, as_float_number(self.code, tensor)),))
        if meets_tensor(self.code, node):
            yield Rewrite(_AS_TENSOR, (Change(node, as_wide_tensor(self.code, tensor)),))

    def _looked_up(self, node: cst.Subscript, index: cst.BaseExpression, case: str) -> Iterator[Rewrite]:
        match case:
            case "BadListIndex" | "BadListIndexTensor":
                text = entry_of_list(self.code, node.value, index)
                yield Rewrite("look it up in a tensor", (Change(node, text), _TORCH))
            case "BadDictKey" if (found := entry_of_dict(self.code, node.value, index)) is not None:
                yield Rewrite("look it up in a tensor", (Change(node, found), _TORCH))
            case "BadModuleList" | "BadModuleListTensor":
                if (changes := entry_of_layers(self.code, node, index)) is not None:
                    yield Rewrite("run all layers and take one result", changes)
            case "BadArgmaxIndex":
                text = f"{as_owner(self.code, node.value)}[{as_owner(self.code, index)}.reshape(1)].squeeze(0)"
                yield Rewrite("index with a dim, and drop it", (Change(node, text),))

    def _defaulted(self, node: cst.Call, key: cst.BaseExpression) -> Iterator[Rewrite]:
        """`scales.get(n.item(), 1.0)`"""
        match node:
            case cst.Call(func=cst.Attribute(value=owner), args=[_, cst.Arg(value=default)]):
                if (text := entry_of_dict(self.code, owner, key, self.source(default))) is not None:
                    yield Rewrite("look it up in a tensor", (Change(node, text), _TORCH))

    def _indexed(self, node: cst.Subscript) -> Iterator[Rewrite]:
        """`x[:, order.tolist()]`"""
        changes: list[AnyChange] = []
        for part in node.slice:
            index = part.slice.value if isinstance(part.slice, cst.Index) else None
            value = self.code.value(index).element if index is not None else None
            if index is None or value is None or not value.is_data:
                continue
            changes.append(Change(index, self._as_index(index, stacked=value.is_tensor)))
        if changes:
            yield Rewrite("index with the tensor itself", (*changes, _TORCH))

    def _as_index(self, index: cst.BaseExpression, *, stacked: bool) -> str:
        match index:
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(value="tolist"))):
                return self.source(owner)
        return f"torch.{'stack' if stacked else 'tensor'}({self.source(index)})"

    def _member(self, node: cst.Comparison) -> Iterator[Rewrite]:
        """`2 * x if n.item() in {1, 5} else x`"""
        above = self.code.parent(node)
        changes = None
        if isinstance(above, cst.IfExp) and above.test is node:
            changes = selected_expression(self.code, above)
        elif isinstance(above, cst.If) and above.test is node:
            changes = selected_statement(self.code, above)
        if changes is not None and (names := read_names(self.code, node.left)) is not None:
            yield Rewrite("compute both sides and select", (*changes, *names))

    def _repeated(self, node: cst.BinaryOperation) -> Iterator[Rewrite]:
        """`torch.stack([x] * n)`"""
        listed, times = (node.left, node.right) if isinstance(node.left, cst.List) else (node.right, node.left)
        call = self.code.parent(self.code.parent(node) or node)
        if not isinstance(listed, cst.List) or len(listed.elements) != 1 or not isinstance(call, cst.Call):
            return
        tensor = read_from(self.code, times)
        number = as_whole_number(self.code, tensor) if tensor is not None else self.source(times)
        one = listed.elements[0].value
        owner = as_owner(self.code, one)
        match self.code.name(call.func), call.args:
            case "torch.stack", [_]:
                text = f"{owner}.repeat({number}, *[1] * {owner}.dim())"
            case "torch.cat", [_]:
                text = f"{owner}.repeat({number}, *[1] * ({owner}.dim() - 1))"
            case "torch.tensor", [_] if not self.code.value(one).is_data:
                text = f"torch.full(({number},), {self.source(one)})"
            case _:
                return
        yield Rewrite("repeat the tensor", (Change(call, text), _TORCH))

    def _resized(self, node: cst.Call, given: cst.BaseExpression) -> Iterator[Rewrite]:
        """`interpolate(x, scale_factor=n.item())`"""
        factor = next((arg for arg in node.args if arg.keyword and arg.keyword.value == "scale_factor"), None)
        if factor is None or isinstance(factor.value, cst.Tuple | cst.List):
            return
        scaled = f"torch.sym_int(size * {as_owner(self.code, factor.value)})"
        sizes = f"[{scaled} for size in {as_owner(self.code, given)}.shape[2:]]"
        yield Rewrite("give the size", (Change(factor, f"size={sizes}"), _TORCH))

    def _one_hot(self, node: cst.Call, given: cst.BaseExpression) -> Iterator[Rewrite]:
        owner = as_owner(self.code, given)
        classes = f"torch.arange({owner}.max().item() + 1, device={owner}.device)"
        change = Change(node, f"({owner}.unsqueeze(-1) == {classes}).long()")
        statement = statement_of(self.code, node)
        if called(node) == "one_hot" and statement is not None:
            check = f"torch._assert_async(({owner} >= 0).all(), 'a class is negative')"
            yield Rewrite(
                "compare with as many classes as there are", (Change(statement, check, Where.BEFORE), change, _TORCH)
            )
