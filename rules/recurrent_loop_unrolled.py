"""A Python loop over time steps is unrolled to the sample's length.

Why: the tracer runs the loop once and records every step it takes. The program has as many steps as the sample had,
and refuses inputs of another length; its size grows with the sample.

Instead: torch's own recurrent layers (`nn.GRU`, `nn.LSTM`, `nn.RNN`) take any length. For a recurrence of one's own
there is a scan operator, not public in torch 2.13: `torch._higher_order_ops.scan.scan(step, init, x, dim=1)`. Where the
length never changes, the loop is fine.

A repair writes it with `scan` where the length is declared dynamic, so that a trial shows that the loop fixes it.
Where it is not, the loop is left as it is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Kind, Rule, Severity, Visitor, called, flat_targets

if TYPE_CHECKING:
    from exportlint import Code

_SCAN = "use `nn.GRU`/`nn.LSTM`, or `torch._higher_order_ops.scan.scan`; the loop is fine where the length is fixed"
_MESSAGE = "the loop over `{code}` carries a state from step to step and is unrolled to the sample's length"


class RecurrentLoopUnrolled(Rule):
    shown_by = ("sizes", "other-length")
    mended_by = ("loop-in-data",)
    cases: ClassVar = {
        "BadCellLoop": Case(_MESSAGE, _SCAN),
        "BadStepLoop": Case(_MESSAGE, _SCAN),
        "BadUnbindLoop": Case(_MESSAGE, _SCAN),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is there a loop over a tensor, or as long as a size?"""
        sketch = code.sketch
        parts = [part for loop in sketch.nodes(ast.For) for part in ast.walk(loop.iter)]
        values = map(sketch.value, parts)
        return any(getattr(part, "attr", "") == "unbind" for part in parts) or any(
            value.is_tensor or value.kind is Kind.SIZE for value in values
        )

    def visit_For(self, node: cst.For) -> None:
        case = self._case_of(_inner(node.iter))
        if case and _carries_state(node):
            self.report(node.iter, case, at_most=Severity.NOTE)

    def _case_of(self, steps: cst.BaseExpression) -> str | None:
        if isinstance(steps, cst.Call):
            if self.code.name(steps.func) == "builtins.range":
                sizes = [self.code.value(arg.value) for arg in steps.args]
                return "BadCellLoop" if any(size.kind is Kind.SIZE for size in sizes) else None
            if called(steps) == "unbind":
                return "BadUnbindLoop"
        return "BadStepLoop" if self.code.value(steps).is_tensor else None


def _inner(node: cst.BaseExpression) -> cst.BaseExpression:
    """What `enumerate`, `reversed`, `zip` or `tqdm` goes over."""
    while isinstance(node, cst.Call) and called(node) in {"enumerate", "reversed", "tqdm", "zip"} and node.args:
        node = node.args[0].value
    return node


def _carries_state(loop: cst.For) -> bool:
    """Is a name assigned in the body from an expression with a call that reads the same name?"""
    loop.body.visit(found := _Carried())
    return found.yes


class _Carried(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.yes = False

    def visit_Assign(self, node: cst.Assign) -> None:
        own = {target.value for target in flat_targets(node) if isinstance(target, cst.Name)}
        node.value.visit(reads := _Reads())
        self.yes = self.yes or (isinstance(node.value, cst.Call) and bool(own & reads.names))


class _Reads(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def visit_Call(self, node: cst.Call) -> None:
        for arg in node.args:
            arg.visit(inner := _Names())
            self.names |= inner.names


class _Names(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)
