"""A tensor that is neither buffer nor parameter is written in place.

Why: a plain tensor attribute, a tensor in a list or dictionary of the module and a tensor of the file become
constants of the exported program. `torch.export` accepts the write and the program even behaves like eager, but every
next step refuses it: `run_decompositions()`, and with it every lowering, says "Constant … is mutated in the forward
method. Pls register it as buffer". `self.x += 1` is worse: in non-strict mode the program starts from a value that is
one step ahead.

Instead: a registered buffer. For one cache per layer or per key, register one buffer each and find it by name:

    self.register_buffer("mean", torch.zeros(dim), persistent=False)
    getattr(self, f"cache_{name}").index_copy_(0, pos, value)
"""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from exportlint import Case, Code, Rule, Source, written_in_place

_INSTEAD = "register the tensor as a buffer: `self.register_buffer(name, tensor, persistent=False)`"


class PlainTensorWrite(Rule):
    mended_by = ("state-in-buffers",)
    torch_says = (r"Constant \S+ is mutated in the forward method",)
    cases: ClassVar = {
        "BadRunningMean": Case("`{code}` writes into a tensor that is no buffer and becomes a constant", _INSTEAD),
        "BadAugmented": Case("`{code}` writes into a tensor that is no buffer and becomes a constant", _INSTEAD),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is any tensor here neither a buffer nor a parameter, but an attribute?"""
        return any(value.is_tensor and value.source is Source.ATTRIBUTE for value in code.sketch.values)

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._reported: set[cst.CSTNode] = set()

    def visit_Assign(self, node: cst.Assign) -> None:
        self._check(node)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._check(node)

    def visit_Call(self, node: cst.Call) -> None:
        self._check(node)

    def _check(self, node: cst.CSTNode) -> None:
        if node in self._reported:
            return
        for written in written_in_place(node):
            value = self.code.value(written)
            if value.is_tensor and value.source is Source.ATTRIBUTE:
                augmented = isinstance(node, cst.AugAssign) and written is node.target
                case = "BadAugmented" if augmented and isinstance(written, cst.Attribute) else "BadRunningMean"
                self.report(node, case, because=value)
                self._reported.add(written)  # `self.mean.mul_(a).add_(b)` is one finding
                return
