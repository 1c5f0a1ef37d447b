"""How many elements a tensor has depends on data, where torch.compile leaves the graph.

Why: torch.export carries such a size as a symbol. torch.compile does not, unless
`torch._dynamo.config.capture_dynamic_output_shape_ops` is set: it ends the graph at a mask that selects, at `nonzero`,
`unique` and the like, waits for the data, and begins another graph with what came out.

Instead: keep all elements and set those aside that do not count, with a mask that is multiplied or given to
`torch.where`. Writing one value where a mask says (`y[mask] = 0`) is fine.

    torch.where(mask[:, None], x, 0.0).sum(0) / mask.sum()      # instead of x[mask].mean(0)
    (ids[:, None] == torch.arange(classes)).sum(0)              # instead of torch.bincount(ids, minlength=classes)
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Instead, OperatorRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint import Code

_CARRIED = r"\bcapture_dynamic_output_shape_ops\s*=\s*True"
_SELECTS = "`{code}` has as many elements as the values of a tensor say"
_WHERE = "keep all and mask: `torch.where(mask, x, 0.0)`"
_MASK = Case(_SELECTS, Instead(_WHERE, shown_in="GoodMask"))
_COUNT = "compare with all classes: `(ids[:, None] == torch.arange(classes)).sum(0)`"


class DataDependentShape(OperatorRule):
    words = r"nonzero|argwhere|where|masked_select|unique|bincount|repeat_interleave|\["
    mended_by = ("templates", "decide-in-data", "loop-in-data", "padded-rows", "numbers-stay-tensors")
    graph_breaks = ("GB0036",)
    cases: ClassVar = {
        "BadMask": _MASK,
        "BadMaskAugmented": _MASK,
        "BadNonzero": _MASK,
        "BadArgwhere": _MASK,
        "BadWhere": _MASK,
        "BadMaskedSelect": _MASK,
        "BadUnique": Case(
            _SELECTS, Instead("where the values are known, compare with all of them", shown_in="GoodBincount")
        ),
        "BadUniqueConsecutive": Case(
            _SELECTS,
            Instead("keep all, and mask those that equal the one before: `x[1:] != x[:-1]`", shown_in="GoodMask"),
        ),
        "BadBincount": Case(_SELECTS, _COUNT),
        "BadRepeatInterleave": Case(_SELECTS, "say `output_size=`, where it is known"),
    }
    functions: ClassVar = {
        "BadNonzero": "torch.nonzero",
        "BadArgwhere": "torch.argwhere",
        "BadWhere": "torch.where",
        "BadMaskedSelect": "torch.masked_select",
        "BadUnique": "torch.unique",
        "BadUniqueConsecutive": "torch.unique_consecutive",
        "BadBincount": "torch.bincount",
        "BadRepeatInterleave": "torch.repeat_interleave",
    }
    methods: ClassVar = {
        "BadNonzero": "nonzero",
        "BadArgwhere": "argwhere",
        "BadMaskedSelect": "masked_select",
        "BadUnique": "unique",
        "BadUniqueConsecutive": "unique_consecutive",
        "BadBincount": "bincount",
        "BadRepeatInterleave": "repeat_interleave",
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is one of them called, or a mask an index, in a file that leaves to Dynamo whether such sizes are carried?"""
        if code.module.matches(_CARRIED):
            return False
        indices = (index for node in code.sketch.nodes(ast.Subscript) for index in _indices(node))
        return super().concerns(code) or any(code.sketch.value(index).boolean for index in indices)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._written: set[cst.CSTNode] = set()

    def case_of(self, node: cst.Call) -> str | None:
        """`torch.where` of one argument gives places; repetitions are counted where they are a tensor."""
        case = super().case_of(node)
        if case == "BadWhere":
            return case if len(node.args) == 1 else None
        if case != "BadRepeatInterleave":
            return case
        words = {arg.keyword.value: arg.value for arg in node.args if arg.keyword}
        given = [arg.value for arg in node.args if not arg.keyword]
        is_function = (self.code.name(node.func) or "").startswith("torch.")
        times = words.get("repeats") or next(iter(given[is_function:] or given), None)
        is_counted = "output_size" not in words and times is not None and self.code.value(times).is_tensor
        return case if is_counted else None

    def visit_AssignTarget(self, node: cst.AssignTarget) -> None:
        """What is written where a mask says need not be counted."""
        self._written.add(node.target)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._written.add(node.target)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._written.add(node.target)
        if isinstance(node.target, cst.Subscript) and self._selects(node.target):
            self.report(node, "BadMaskAugmented")

    def visit_Subscript(self, node: cst.Subscript) -> None:
        if node not in self._written and self._selects(node):
            self.report(node, "BadMask")

    def _selects(self, node: cst.Subscript) -> bool:
        """By a tensor that surely is a mask."""
        indices = (part.slice.value for part in node.slice if isinstance(part.slice, cst.Index))
        masks = (self.code.value(index) for index in indices)
        return self.code.value(node.value).is_tensor and any(mask.is_tensor and mask.boolean for mask in masks)


def _indices(node: ast.Subscript) -> Sequence[ast.expr]:
    return node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
