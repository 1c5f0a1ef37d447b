"""What Python orders, counts or converts is left to torch, which needs no value of a number for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Applicability, Change, ModuleImport, Repair, Rewrite
from exportlint.rewriting.context.certainty import where_certain
from exportlint.rewriting.decisions.selection import selected_expression, selected_statement
from exportlint.rewriting.decisions.tensor_test import tensor_test
from exportlint.rewriting.numbers.counted_values import distinct
from exportlint.rewriting.numbers.first_piece import first_piece
from exportlint.rewriting.numbers.known_types import asked_for_type
from exportlint.rewriting.numbers.listed_numbers import counted, ordered, reduced_by_numpy, tests_counted
from exportlint.rewriting.numbers.numbers_of_tensors import as_operand, as_owner, meets_tensor, read_from
from exportlint.rewriting.numbers.spaced import classes_compared, evenly_spaced
from exportlint.rewriting.numbers.stacked import stacked
from exportlint.rewriting.operations.tensor_math import as_torch_math

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from exportlint import Code

_TORCH = ModuleImport("torch")
_OF_CALLS: dict[str, Callable[[Code, cst.Call], Iterable[Rewrite]]] = {
    "BadSorted": ordered,
    "BadFromKeys": distinct,
    "BadNumPy": as_torch_math,
    "BadNumPyOfList": reduced_by_numpy,
    "BadMedian": reduced_by_numpy,
    "BadTensorOfTensors": stacked,
    "BadIsInstance": asked_for_type,
    "BadCount": counted,
    "BadSumOfTests": tests_counted,
    "BadSplit": first_piece,
    "BadChunk": first_piece,
    "BadClasses": classes_compared,
    "BadSteps": evenly_spaced,
}


class NumberLeftToTorch(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match node:
            case cst.Call(args=[cst.Arg(value=given), *_]):
                yield from self._called(node, given, case)
            case cst.SetComp() | cst.DictComp():
                yield from distinct(self.code, node)
            case cst.Comparison() if case == "BadIn":
                yield from self._member(node)
            case cst.Comparison():
                yield from asked_for_type(self.code, node)
            case cst.BinaryOperation(left=left, right=right) if case == "BadPower":
                yield from self._power(node, left, right)

    def _called(self, node: cst.Call, given: cst.BaseExpression, case: str) -> Iterator[Rewrite]:
        match case:
            case "BadDivmod" if len(node.args) == 2:  # noqa: PLR2004 - number and divisor
                yield from self._divided(node, given, node.args[1].value)
            case "BadEnum":
                yield from self._entry(node, given)
            case "BadAsTensor" | "BadAsTensorOfList":
                change = Change(node.func, "torch.tensor")
                # A name may hold a tensor elsewhere, whose gradient `torch.tensor` would drop.
                trusted = where_certain(self.code, given) if isinstance(given, cst.Call) else Applicability.UNSAFE
                yield Rewrite("make it with `torch.tensor`", (change, _TORCH), trusted)
            case "BadRangeLength":
                yield from self._range(node, given)
            case _ if case in _OF_CALLS:
                yield from _OF_CALLS[case](self.code, node)

    def _divided(self, node: cst.Call, number: cst.BaseExpression, divisor: cst.BaseExpression) -> Iterator[Rewrite]:
        a, b = as_operand(self.code, number), as_operand(self.code, divisor)
        text = f"{a} // {b}, {a} % {b}"
        plain = isinstance(self.code.parent(node), cst.Assign | cst.Return)
        yield Rewrite("divide with `//` and `%`", (Change(node, text if plain else f"({text})"),))

    def _entry(self, node: cst.Call, given: cst.BaseExpression) -> Iterator[Rewrite]:
        """`Phase(n).value` is `n`."""
        above = self.code.parent(node)
        if isinstance(above, cst.Attribute) and above.attr.value == "value":
            yield Rewrite("use the number itself", (Change(above, as_owner(self.code, given)),))
        elif isinstance(above, cst.BinaryOperation | cst.Comparison | cst.ComparisonTarget):
            yield Rewrite("use the number itself", (Change(node, as_owner(self.code, given)),))

    def _member(self, node: cst.Comparison) -> Iterator[Rewrite]:
        """`0 in labels.tolist()`"""
        text, above, changes = tensor_test(self.code, node), self.code.parent(node), None
        if isinstance(above, cst.IfExp) and above.test is node:
            changes = selected_expression(self.code, above)
        elif isinstance(above, cst.If) and above.test is node:
            changes = selected_statement(self.code, above)
        elif text is not None:
            yield Rewrite("compare with tensors", (Change(node, text), _TORCH))
        if changes is not None:
            yield Rewrite("compute both sides and select", changes)

    def _power(
        self, node: cst.BinaryOperation, left: cst.BaseExpression, right: cst.BaseExpression
    ) -> Iterator[Rewrite]:
        """`2 ** n.item()`"""
        tensor = read_from(self.code, right)
        exponent = self.source(tensor) if tensor is not None else f"torch.tensor({self.source(right)})"
        base = f"{self.source(left)}.0" if isinstance(left, cst.Integer) else f"float({self.source(left)})"
        text = f"torch.pow({base}, {exponent})"
        yield Rewrite(
            "use `torch.pow`", (Change(node, text if meets_tensor(self.code, node) else f"{text}.item()"), _TORCH)
        )

    def _range(self, node: cst.Call, given: cst.BaseExpression) -> Iterator[Rewrite]:
        """`sum(range(n))`, `len(range(n))`"""
        match given:
            case cst.Call(args=[cst.Arg(value=end)]):
                pass
            case _:
                return
        match self.code.name(node.func):
            case "builtins.sum":
                change = Change(node, f"torch.arange({self.source(end)}).sum().item()")
                yield Rewrite("use `torch.arange`", (change, _TORCH))
            case "builtins.len":
                yield Rewrite("use its end", (Change(node, f"max({self.source(end)}, 0)"),))
            case "builtins.list":
                call = self.code.parent(self.code.parent(node) or node)
                if isinstance(call, cst.Call) and self.code.name(call.func) == "builtins.len":
                    yield Rewrite("use its end", (Change(call, f"max({self.source(end)}, 0)"),))
