"""An operation needs a dim that is declared dynamic to be one number, in a narrower range, or equal to another.

Why: while torch traces with the sample, an operation whose operands have to fit each other asks whether they do: the
rows of a table, the features of a layer, a literal in `view`, the end of a slice, the pieces of `chunk`. What it asked
becomes a constraint on the declared dim, and export ends with "Constraints violated" where not every size of the
declared range keeps it. This rule reckons with the sizes of the sample and the ranges of the declared dims, so it
speaks only of models whose file gives both.

Instead: take the size from the input (`self.table[: x.shape[1]]`, `x.view(x.shape[0], -1)`), declare the dim with the
range that holds (`Dim("time", min=8, max=32)`), or declare two dims that have to be equal by one `Dim`.

Repair: a size that is written as a number, or kept by the constructor, is taken from the tensor. Where the model is
right and the declaration is not, there is none; `--dynamic auto` proposes one that torch takes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Declaration, Demand, Kind, Need, Rule, Severity, called, demands_of, extent_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint import Code


_TAKE = "take the size from the input, or leave the dim static"
_RANGE = "declare the dim with the range that holds for this, or leave the operation out"
_ONE = "declare both by one `Dim`"
_NEEDS = "`{code}` needs dim {dim}, which is declared dynamic, to be {number}"
_BY_NAME = {
    "matmul": "BadMatmul", "bmm": "BadMatmul", "mm": "BadMatmul", "cat": "BadCat", "stack": "BadCat",
    "concat": "BadCat", "view": "BadView", "reshape": "BadView", "unflatten": "BadView", "expand": "BadExpand",
}  # fmt: skip
_PIECES = {"chunk": "BadChunk", "split": "BadSplit", "tensor_split": "BadChunk"}


class OperationFixesDim(Rule):
    mended_by = ("declared-dims",)
    shown_by = ("sizes",)
    cases: ClassVar = {
        "BadTable": Case(_NEEDS, _TAKE),
        "BadMatmul": Case(_NEEDS, _TAKE),
        "BadCat": Case(_NEEDS, _TAKE),
        "BadView": Case("`{code}` fits few sizes of dim {dim}, which is declared dynamic", _TAKE),
        "BadExpand": Case(_NEEDS, _TAKE),
        "BadLinear": Case(_NEEDS, "give the layer a dim that is static, or leave the dim static"),
        "BadTwoInputs": Case("`{code}` needs two dims to be equal that are declared dynamic one by one", _ONE),
        "BadShortTable": Case("`{code}` has rows for sizes up to {number} only, and dim {dim} may be larger", _RANGE),
        "BadSlice": Case("`{code}` needs dim {dim}, which is declared dynamic, to be at least {number}", _RANGE),
        "BadIndex": Case("`{code}` needs dim {dim}, which is declared dynamic, to be at least {number}", _RANGE),
        "BadTopk": Case("`{code}` needs dim {dim}, which is declared dynamic, to be at least {number}", _RANGE),
        "BadChunk": Case("`{code}` falls into as many pieces as the sample's size of dim {dim} gives", _TAKE),
        "BadSplit": Case("`{code}` falls into as many pieces as the sample's size of dim {dim} gives", _TAKE),
        "BadRecurrentLayer": Case(
            "`{code}` takes as many steps as the sample has of dim {dim}, which is declared dynamic",
            "leave the dim static, and pad to its size; or write the steps with `scan`"
            " (`from torch._higher_order_ops.scan import scan`)",
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Does a sample declare dims?"""
        return code.declares_dims

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._asked: set[object] = set()  # the dims that tests above ask for, which are told as such

    def visit_If(self, node: cst.If) -> None:
        for test in _comparisons(node.test):
            sides = (test.left, *(other.comparator for other in test.comparisons))
            extents = (extent_of(self.code.value(side)) for side in sides)
            self._asked |= {dim for extent in extents if extent is not None for dim in extent.dims}

    def visit_BinaryOperation(self, node: cst.BinaryOperation) -> None:
        self._judge(node, "BadMatmul" if isinstance(node.operator, cst.MatrixMultiply) else "BadTable")

    def visit_Comparison(self, node: cst.Comparison) -> None:
        self._judge(node, "BadTable")

    def visit_Call(self, node: cst.Call) -> None:
        layer = self.code.value(node.func).kind is Kind.MODULE
        name = called(node) or ""
        self._judge(node, "BadLinear" if layer else _BY_NAME.get(name, "BadTable"), name)

    def visit_Subscript(self, node: cst.Subscript) -> None:
        parts = [part.slice for part in node.slice]
        self._judge(node, "BadSlice" if any(isinstance(part, cst.Slice) for part in parts[-1:]) else "BadIndex")

    def _judge(self, node: cst.CSTNode, case: str, name: str = "") -> None:
        for demand in demands_of(self.code, node):
            if demand.need is Need.AT_LEAST and demand.left.dims and demand.left.dims <= self._asked:
                continue  # `if x.shape[0] <= 16: return …` above it
            if demand.open and (at_most := _severity(demand)):
                dim, number = _words(demand)
                if demand.need is Need.PIECES and case == "BadLinear" and self.code.module.matches(r"onnx\.export"):
                    return  # which writes a recurrent layer as a loop
                self.report(node, _case(case, demand, name), at_most=at_most, dim=dim, number=number)
                return


def _comparisons(test: cst.BaseExpression) -> Iterator[cst.Comparison]:
    match test:
        case cst.Comparison():
            yield test
        case cst.BooleanOperation(left=left, right=right):
            yield from (*_comparisons(left), *_comparisons(right))
        case cst.UnaryOperation(expression=inner):
            yield from _comparisons(inner)


def _severity(demand: Demand) -> Severity | None:
    """What torch says depends on how the dim was declared: all sizes of a `Dim` have to work."""
    how = {dim.how for dim in demand.left.dims | demand.right.dims}
    if how == {Declaration.NAMED}:
        return Severity.ERROR
    if how == {Declaration.AUTO}:  # which may become a constant, or narrower
        return None
    one_number = demand.need is Need.EQUAL and (demand.left.number is not None or demand.right.number is not None)
    return Severity.WARNING if one_number else None


def _case(case: str, demand: Demand, name: str) -> str:
    if demand.need is Need.PIECES:
        return "BadRecurrentLayer" if case == "BadLinear" else _PIECES.get(name, "BadChunk")
    if demand.need is Need.AT_LEAST:
        return "BadTopk" if name else case if demand.left.dims else "BadShortTable"
    if len(demand.left.dims | demand.right.dims) > 1 and case != "BadView":
        return "BadTwoInputs"
    return case


def _words(demand: Demand) -> tuple[str, str]:
    dims = demand.left.dims | demand.right.dims
    known = next((side for side in (demand.right, demand.left) if side.number is not None), None)
    first = min(dims, key=lambda dim: dim.index)
    named = f"{first.index} (`{first.name}`)" if first.name.isidentifier() else str(first.index)
    if known is None or known.number is None:
        return named, "as large as the other operand"
    other = demand.left if known is demand.right else demand.right
    if demand.need is Need.EQUAL and other.terms is not None and len(other.terms) == 1:
        ((_, factor),) = other.terms  # `20 * batch` has to be 80: the dim 4
        whole, rest = divmod(known.number - other.offset, factor)
        return named, str(known.number if rest else whole)
    if demand.need is Need.EQUAL and other.terms is None:  # `(length - 8) // 8 + 1` has to be 12
        return named, f"one of those that give {known.number} here"
    return named, str(known.number)
