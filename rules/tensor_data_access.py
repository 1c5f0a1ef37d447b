"""`.data` hides reads and writes of a tensor from the tracer.

Why: `.data` gives a new tensor that shares memory with the old one and that autograd and functionalisation know
nothing about. In non-strict mode the traced value ends up among the constants of the program and torch refuses it
("We found a fake tensor in the exported program constant's list"); assigning `y.data = …` exports and the assignment
is lost. In strict mode writes are lost without a word, `param.data = …` gives a program that crashes.

Instead: `.detach()` reads without a gradient and is traced. A write needs no `.data` at all:

    rows = rows.masked_fill(mask, 0.0)      # instead of rows.data[mask] = 0.0
    y = y + (quantised - y).detach()        # instead of y.data = quantised
    self.mean.copy_(new_mean)               # a registered buffer, instead of self.mean.data.copy_(…)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import libcst as cst

from exportlint import Case, Code, Kind, Rule, Severity, Source, Value, Visitor, flat_targets, written_in_place

if TYPE_CHECKING:
    from collections.abc import Iterator


_MAKERS = frozenset({"new", "new_tensor"})
_METADATA = frozenset({"shape", "dtype", "device", "ndim", "size", "dim", "numel", "layout", "is_cuda"})


class TensorDataAccess(Rule):
    mended_by = ("templates",)
    words = r"\.data\b"
    torch_says = (
        r"found a fake tensor in the exported program constant's list",
        r"Failed to mutate tensor data attribute",
    )
    graph_breaks = ("GB0056",)
    cases: ClassVar = {
        "BadDataWrite": Case(
            "`{code}` writes into a tensor behind the tracer's back",
            "write to the tensor itself, or compute it with `torch.where` or `masked_fill`",
        ),
        "BadParameterDataWrite": Case(
            "`{code}` changes a parameter behind the tracer's back",
            "change weights outside of forward, or compute with the changed value and leave the parameter alone",
        ),
        "BadBufferDataWrite": Case(
            "`{code}` writes into a buffer behind the tracer's back",
            "write to the buffer itself: `self.buffer.copy_(…)`",
        ),
        "BadDataAssign": Case(
            "`{code}` gives a tensor other data",
            "compute with the new value; `y + (new - y).detach()` keeps the gradient of `y`",
        ),
        "BadParameterDataAssign": Case(
            "`{code}` gives a parameter other data",
            "compute with the new value and leave the parameter alone, or change it outside of forward",
        ),
        "BadParameterDataFromInput": Case(
            "`{code}` gives a parameter data that comes from an input",
            "compute with the new value and leave the parameter alone, or keep the value in a buffer:"
            " `self.register_buffer(…)` and `self.buffer.copy_(…)`",
        ),
        "BadDataNew": Case(
            "`{code}` makes a tensor of one past the tracer, which strict mode takes for a fake one",
            "make it with `x.new_zeros(…)` or `torch.zeros(…, device=x.device)`",
        ),
        "BadDataRead": Case("`{code}` reads a tensor past autograd and the tracer", "use `.detach()`"),
        "BadParameterDataRead": Case("`{code}` reads a parameter past autograd and the tracer", "use `.detach()`"),
    }

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._reported: set[cst.CSTNode] = set()

    def visit_Assign(self, node: cst.Assign) -> None:
        for target in flat_targets(node):
            if isinstance(target, cst.Attribute) and target.attr.value == "data":
                self._report(target, target, node, assigned=True)
        self._writes(node)

    def visit_AugAssign(self, node: cst.AugAssign) -> None:
        self._writes(node)

    def visit_Call(self, node: cst.Call) -> None:
        for inner in _chain(node):
            self._made(inner.func)
        self._writes(node)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value in _METADATA:
            self._reported.add(node.value)
        if node.attr.value in _MAKERS:
            self._made(node)
        if node.attr.value == "data" and node not in self._reported:
            self._report(node, node, node, read=True)

    def _made(self, node: cst.BaseExpression) -> None:
        """`x.data.new` and `x.data.new_tensor`, called at once or later, read nothing of x but its dtype and device."""
        match node:
            case cst.Attribute(value=cst.Attribute(attr=cst.Name(value="data")) as access, attr=cst.Name(value=name)):
                owner = self.code.value(access.value)
                if name in _MAKERS and access not in self._reported and owner.kind is Kind.TENSOR:
                    self._reported.add(access)
                    if name == "new":
                        at_most = Severity.ERROR if owner.certain else Severity.WARNING
                        self.report(node, "BadDataNew", because=owner, at_most=at_most)

    def _writes(self, node: cst.CSTNode) -> None:
        for written in written_in_place(node):
            if access := _data_in(written):
                self._report(access, written, node)

    def _report(
        self, access: cst.Attribute, part: cst.CSTNode, node: cst.CSTNode, *, assigned: bool = False, read: bool = False
    ) -> None:
        owner = self.code.value(access.value)
        if owner.kind is not Kind.TENSOR or access in self._reported:
            return
        self._reported.add(access)
        if not read:
            node.visit(inside := _DataReads())
            self._reported |= inside.found  # one finding for `p.data = p.data.clamp(0, 1)`
        at_most = Severity.ERROR if owner.certain else Severity.WARNING
        case = _case(owner, assigned, read)
        # Data that the program computes becomes a constant of it; data of the parameter itself is refused.
        if case == "BadParameterDataAssign" and isinstance(node, cst.Assign) and self._reads_a_tensor(node.value):
            case = "BadParameterDataFromInput"
        self.report(node, case, at_most=at_most, because=owner)

    def _reads_a_tensor(self, node: cst.BaseExpression) -> bool:
        """Does it name a tensor that is no state of the model?"""
        node.visit(inside := _Names())
        return any(self.code.value(name).source in {Source.INPUT, Source.COMPUTED} for name in inside.found)


def _case(owner: Value, assigned: bool, read: bool) -> str:
    match owner.source:
        case Source.PARAMETER:
            return "BadParameterDataAssign" if assigned else "BadParameterDataRead" if read else "BadParameterDataWrite"
        case Source.BUFFER if not assigned and not read:
            return "BadBufferDataWrite"
    return "BadDataAssign" if assigned else "BadDataRead" if read else "BadDataWrite"


def _chain(node: cst.CSTNode) -> Iterator[cst.Call]:
    """The calls in `x.data.new(3).zero_()`, the last one first."""
    while isinstance(node, cst.Call | cst.Attribute):
        if isinstance(node, cst.Call):
            yield node
            node = node.func
        else:
            node = node.value


def _data_in(node: cst.CSTNode) -> cst.Attribute | None:
    """The `.data` in `x.data[0].weight`: the part of the chain that is written through."""
    while True:
        match node:
            case cst.Attribute(attr=cst.Name(value="data")):
                return node
            case cst.Attribute(value=inner) | cst.Subscript(value=inner) | cst.Call(func=inner):
                node = inner
            case _:
                return None


class _Names(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[cst.Name] = []

    def visit_Name(self, node: cst.Name) -> None:
        self.found.append(node)


class _DataReads(Visitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[cst.CSTNode] = set()

    def visit_Attribute(self, node: cst.Attribute) -> None:
        if node.attr.value == "data":
            self.found.add(node)
