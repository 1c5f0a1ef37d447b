"""A `dynamic_shapes` does not fit the arguments that are given with it, or their sizes.

Why: torch compares the two before it traces anything. The names have to be those of the arguments that are given, no
more and no fewer: an argument that is given as None has a None there, one that is left to its default has nothing. A
tuple wants a tuple, a list a list, what `*args` collects a tuple, and a number None. Then the sample has to be one of
those that are declared: a size of 0 or 1 is a constant for torch, and never a dim.

Instead: `dynamic_shapes` in the structure of the arguments, and a sample of two or more.

    def forward(self, tokens, memory, start=None): ...

    torch.export.export(
        model, (tokens, memory, None), dynamic_shapes={"tokens": {0: batch}, "memory": {0: batch}, "start": None}
    )
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

from exportlint import Case, Misfit, Rule, Scope, Severity, size_written, specifications

if TYPE_CHECKING:
    import libcst as cst

    from exportlint import Code, Specification

_FITTING = "write `{fitting}`"
_TWO = "use a sample of 2 or more there; nothing else need change"
_CASES = {
    Misfit.NAMES: "BadNames",
    Misfit.NUMBER: "BadNumber",
    Misfit.CONTAINER: "BadContainer",
    Misfit.NO_TENSOR: "BadNumberDeclared",
    Misfit.RANK: "BadRank",
    Misfit.NO_SIZES: "BadKeyOfText",
    Misfit.SPARE_KEYWORDS: "BadSpareKeywords",
    Misfit.CONSTANT_SIZE: "BadSampleOfOne",
    Misfit.OUTSIDE: "BadOutside",
    Misfit.UNEQUAL: "BadUnequal",
}
_OF_SIZES = frozenset({Misfit.CONSTANT_SIZE, Misfit.OUTSIDE, Misfit.UNEQUAL})


class DynamicShapesMisfit(Rule):
    scope = Scope.FILE
    mended_by = ("fitting-shapes",)
    words = r"dynamic_shapes"
    torch_says = (
        r"When `dynamic_shapes` is specified as a dict, its top-level keys must be the arg names",
        r"Detected mismatch between the structure of `inputs` and `dynamic_shapes`",
        r"Expected dynamic shape spec .* to have the same length as the actual tensor shape",
        r"Cannot associate shape .* to non-tensor type",
        r"Unexpected input tensor shape .* specified at `dynamic_shapes",
        r"expected dynamic_shape to be None, int, or _DimHint",
        r"but export 0/1 specialized due to hint of",
        r"\d+ not in range \[",
        r"is not equal to L\[",
        r"Must provide a tree_name when there might be a mismatch",
    )
    checks = ("special", "outside")
    docs = (("torch.export.export", "https://docs.pytorch.org/docs/stable/export.html"),)
    cases: ClassVar = {
        "BadNames": Case("`dynamic_shapes` does not name the arguments that are given: {what}", _FITTING),
        "BadNumber": Case("`dynamic_shapes` has {what}", _FITTING),
        "BadContainer": Case("{what} is {instead}, and `dynamic_shapes` has another container for it", _FITTING),
        "BadNumberDeclared": Case("{what} is no tensor, and `dynamic_shapes` declares sizes of it", _FITTING),
        "BadRank": Case("{what}, and `dynamic_shapes` declares another number of them", _FITTING),
        "BadKeyOfText": Case("`dynamic_shapes` declares nothing that is a size of {what}", _FITTING),
        "BadSpareKeywords": Case(
            "{what} is collected by `{instead}`, of which torch takes no `dynamic_shapes`",
            "give forward a parameter of that name",
        ),
        "BadSampleOfOne": Case("{what} {is} {size} in the sample, and declared dynamic as {instead}", _TWO),
        "BadOutside": Case(
            "{what} is {size} in the sample, and is declared as {instead}",
            "give a sample within the range, or declare a wider one",
        ),
        "BadUnequal": Case(
            "one `Dim` has two sizes: {what}, both declared as `{instead}`",
            "give a sample with equal sizes, or declare two dims",
        ),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Does the file export anything with inputs that are known?"""
        return any(True for _ in specifications(code.module, code.exports))

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._wanted: dict[tuple[int, int], tuple[str, dict[str, str]]] = {}
        for specification in specifications(code.module, code.exports):
            self._judge(specification)

    def _judge(self, specification: Specification) -> None:
        fitting = specification.fitting()
        told = " ".join(ast.unparse(fitting).split()) if fitting is not None else "the structure of the arguments"
        misfits = specification.misfits()
        constant = [one for one in misfits if one.kind is Misfit.CONSTANT_SIZE]
        for misfit in (one for one in misfits if one not in constant[1:]):
            node = misfit.node
            if misfit.kind in _OF_SIZES:
                node = size_written(self.code.module, specification.call, misfit) or node
            what = " and ".join(one.what for one in constant) if misfit in constant else misfit.what
            texts = {
                "what": what,
                "is": "is" if misfit not in constant or len(constant) == 1 else "are",
                "instead": misfit.instead,
                "size": str(misfit.size),
                "fitting": told,
            }
            self._wanted.setdefault(self._start(node), (_CASES[misfit.kind], texts))

    def _start(self, node: ast.expr) -> tuple[int, int]:
        """As libcst counts: characters, and a tuple begins behind its parenthesis."""
        line = self.code.module.parsed.lines[node.lineno - 1]
        column = len(line.encode()[: node.col_offset].decode())
        return node.lineno, column + (isinstance(node, ast.Tuple) and line[column] == "(")

    def _seen(self, node: cst.CSTNode) -> None:
        place = self.code.place(node)
        case, texts = self._wanted.pop((place.line, place.column - 1), ("", {}))
        if case:
            self.report(node, case, at_most=Severity.ERROR, because=None, **texts)

    def visit_Dict(self, node: cst.Dict) -> None:
        self._seen(node)

    def visit_Tuple(self, node: cst.Tuple) -> None:
        self._seen(node)

    def visit_List(self, node: cst.List) -> None:
        self._seen(node)

    def visit_Set(self, node: cst.Set) -> None:
        self._seen(node)

    def visit_Call(self, node: cst.Call) -> None:
        self._seen(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        self._seen(node)

    def visit_Name(self, node: cst.Name) -> None:
        self._seen(node)

    def visit_Integer(self, node: cst.Integer) -> None:
        self._seen(node)
