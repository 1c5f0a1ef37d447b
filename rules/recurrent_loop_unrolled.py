"""A Python loop over time steps is unrolled to the sample's length.

Why: the tracer runs the loop once and records every step it takes. The program has as many steps as the sample had,
and refuses inputs of another length; its size grows with the sample. A `while` that counts, up to a size or down from
one, is the same loop, and so is `while True` that ends when the count is there.

Instead: the scan operator, not public in torch 2.13, takes any length: `scan(step, init, x, dim=1)` after
`from torch._higher_order_ops.scan import scan`. torch's own recurrent layers (`nn.GRU`, `nn.LSTM`, `nn.RNN`) are one
operator in the graph, however long the sample is, and take the sample's length alone, as `operation-fixes-dim` shows.
Where the length never changes, the loop is fine, too.

A repair writes it with `scan` where the length is declared dynamic, so that a trial shows that the loop fixes it.
Where it is not, the loop is left as it is.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Kind, Rule, Severity, Visitor, called, dims_of, extent_of, flat_targets, walked

if TYPE_CHECKING:
    from exportlint import Code

_SCAN = (
    "use `scan` (`from torch._higher_order_ops.scan import scan`), which takes any length; where the length is fixed,"
    " the loop is fine, and `nn.GRU`/`nn.LSTM` make one operator of it"
)
_CARRIES = "carries a state from step to step and is unrolled to the sample's length"
_MESSAGE = f"the loop over `{{code}}` {_CARRIES}"
_WHILE = f"the loop that goes on while `{{code}}` {_CARRIES}"


class RecurrentLoopUnrolled(Rule):
    shown_by = ("sizes", "other-length")
    mended_by = ("loop-in-data",)
    cases: ClassVar = {
        "BadCellLoop": Case(_MESSAGE, _SCAN),
        "BadStepLoop": Case(_MESSAGE, _SCAN),
        "BadUnbindLoop": Case(_MESSAGE, _SCAN),
        "BadSplitLoop": Case(_MESSAGE, _SCAN),
        "BadChunkLoop": Case(_MESSAGE, _SCAN),
        "BadCountingLoop": Case(_WHILE, _SCAN),
        "BadCountdownLoop": Case(_WHILE, _SCAN),
        "BadEndlessLoop": Case(f"the loop that ends where `{{code}}` {_CARRIES}", _SCAN),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is there a loop over a tensor, or as long as a size?"""
        sketch = code.sketch
        if any(True for _ in sketch.nodes(ast.While)):
            return True
        parts = [part for loop in sketch.nodes(ast.For) for part in walked(loop.iter)]
        values = map(sketch.value, parts)
        return any(getattr(part, "attr", "") in {"unbind", "split", "chunk"} for part in parts) or any(
            value.is_tensor or value.kind is Kind.SIZE for value in values
        )

    def visit_For(self, node: cst.For) -> None:
        case = self._case_of(over := _inner(node.iter))
        if case and not self._is_declared(over) and _carries_state(node):
            self.report(node.iter, case, at_most=Severity.NOTE)

    def visit_While(self, node: cst.While) -> None:
        """One that counts: `while t < x.shape[1]`, `while t >= 0` from the last one, `while True` with a `break`."""
        test, case = node.test, "BadCountingLoop"
        if isinstance(test, cst.Name) and test.value == "True" and (left := _left_where(node)) is not None:
            test, case = left, "BadEndlessLoop"
        steps = _steps(node)
        match test:
            case cst.UnaryOperation(operator=cst.Not(), expression=inner):
                compared = inner
            case _:
                compared = test
        if not isinstance(compared, cst.Comparison) or len(compared.comparisons) != 1:
            return
        sides = (compared.left, compared.comparisons[0].comparator)
        counters = [one for one in sides if _names_in(one) & steps]
        sizes = [one for one in sides if self.code.value(one).kind is Kind.SIZE]
        if counters and sizes and not any(map(self._is_declared, sizes)) and _carries_state(node):
            if case == "BadCountingLoop" and all(one in counters for one in sizes):
                case = "BadCountdownLoop"
            self.report(test, case, at_most=Severity.NOTE)

    def _is_declared(self, over: cst.BaseExpression) -> bool:
        """Is it as long as a dim that a sample declares dynamic: a size, the rows of a tensor, `range(…)`, `len(…)`?
        There torch refuses the loop, which another rule says."""
        value = self.code.value(over)
        extents = [extent_of(value), *(dims_of(value) or ())[:1]]
        inner = [arg.value for arg in over.args] if isinstance(over, cst.Call) else []
        if isinstance(over, cst.Call) and isinstance(over.func, cst.Attribute):  # `x.unbind(1)`
            extents += dims_of(self.code.value(over.func.value)) or ()
        return any(one is not None and one.dims for one in extents) or any(map(self._is_declared, inner))

    def _case_of(self, steps: cst.BaseExpression) -> str | None:
        if isinstance(steps, cst.Call):
            if self.code.name(steps.func) == "builtins.range":
                sizes = [self.code.value(arg.value) for arg in steps.args]
                return "BadCellLoop" if any(size.kind is Kind.SIZE for size in sizes) else None
            first = steps.args[0].value if steps.args else None
            match called(steps):
                case "unbind":
                    return "BadUnbindLoop"
                case "split" if isinstance(first, cst.Integer) and self._is_of_tensor(steps):
                    return "BadSplitLoop"
                case "chunk" if first is not None and self.code.value(first).kind is Kind.SIZE:
                    return "BadChunkLoop"
        return "BadStepLoop" if self.code.value(steps).is_tensor else None

    def _is_of_tensor(self, call: cst.Call) -> bool:
        """Text has a method `split`, too."""
        return isinstance(call.func, cst.Attribute) and self.code.value(call.func.value).is_tensor


def _left_where(loop: cst.While) -> cst.BaseExpression | None:
    """The test of the `if …: break` of a loop."""
    for one in loop.body.body:
        match one:
            case (
                cst.If(test=test, body=cst.IndentedBlock(body=[cst.SimpleStatementLine(body=[cst.Break()])]))
                | cst.If(test=test, body=cst.SimpleStatementSuite(body=[cst.Break()]))
            ):
                return test
    return None


def _steps(loop: cst.While) -> set[str]:
    """The names that a loop counts with: `t += 1`, `t = t - 1`."""
    loop.body.visit(found := _Counters())
    return found.names


class _Counters(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        match node:
            case cst.AugAssign(
                target=cst.Name(value=name),
                operator=cst.AddAssign() | cst.SubtractAssign(),
                value=cst.Integer(),
            ):
                self.names.add(name)

    def visit_Assign(self, node: cst.Assign) -> None:
        match node:
            case cst.Assign(
                targets=[cst.AssignTarget(target=cst.Name(value=name))],
                value=cst.BinaryOperation(
                    left=cst.Name(value=old), operator=cst.Add() | cst.Subtract(), right=cst.Integer()
                ),
            ) if name == old:
                self.names.add(name)


def _names_in(node: cst.CSTNode) -> set[str]:
    node.visit(found := _Names())
    return found.names


def _inner(node: cst.BaseExpression) -> cst.BaseExpression:
    """What `enumerate`, `reversed`, `zip` or `tqdm` goes over."""
    while isinstance(node, cst.Call) and called(node) in {"enumerate", "reversed", "tqdm", "zip"} and node.args:
        node = node.args[0].value
    return node


def _carries_state(loop: cst.For | cst.While) -> bool:
    """Does a step compute, with a call, from what the step before left?"""
    loop.body.visit(found := _Steps())
    return any(
        name == target or name in found.reached(target)
        for target, called_with in found.called.items()
        for name in called_with & found.read_first
    )


class _Steps(Visitor):
    """What each name that a body sets is computed from, and which names are read before the body sets them."""

    def __init__(self) -> None:
        super().__init__()
        self.made_of: dict[str, set[str]] = {}
        self.called: dict[str, set[str]] = {}
        self.read_first: set[str] = set()

    def reached(self, name: str) -> set[str]:
        """The names that something is made of which is made of this one."""
        found, waiting = set[str](), {name}
        while waiting:
            waiting = {target for target, names in self.made_of.items() if names & waiting} - found
            found |= waiting
        return found

    def visit_Assign(self, node: cst.Assign) -> bool:
        node.value.visit(self)
        self._set(node.value, {target.value for target in flat_targets(node) if isinstance(target, cst.Name)})
        return False

    def visit_AugAssign(self, node: cst.AugAssign) -> bool:
        node.target.visit(self)
        node.value.visit(self)
        self._set(node.value, {node.target.value} if isinstance(node.target, cst.Name) else set())
        return False

    def _set(self, value: cst.BaseExpression, names: set[str]) -> None:
        value.visit(reads := _Reads())
        for name in names:
            self.made_of.setdefault(name, set()).update(_names_in(value))
            self.called.setdefault(name, set()).update(reads.names)

    def visit_Name(self, node: cst.Name) -> None:
        if node.value not in self.made_of:
            self.read_first.add(node.value)


class _Reads(Visitor):
    """The names that calls are given."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def visit_Call(self, node: cst.Call) -> None:
        for arg in node.args:
            self.names |= _names_in(arg)


class _Names(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.names.add(node.value)
