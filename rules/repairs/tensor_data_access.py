"""`.data` is `.detach()`, which shares memory too, and which the tracer follows: reads and writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Applicability, Change, Repair, Rewrite
from exportlint.rewriting.context.certainty import where_certain
from exportlint.rewriting.numbers.numbers_of_tensors import as_owner
from exportlint.rewriting.source.assigned_names import every

if TYPE_CHECKING:
    from collections.abc import Iterator


_IN_PLACE = {
    cst.AddAssign: "add_", cst.SubtractAssign: "sub_", cst.MultiplyAssign: "mul_", cst.DivideAssign: "div_",
    cst.PowerAssign: "pow_", cst.BitAndAssign: "bitwise_and_", cst.BitOrAssign: "bitwise_or_",
}  # fmt: skip


class DetachedAccess(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        match node:
            case cst.FunctionDef():
                yield from self._everywhere(node)
            case cst.Attribute() if case in {"BadDataRead", "BadParameterDataRead"}:
                yield Rewrite("read it with `.detach()`", (self._detached(node),), self._trusted(node))
            case cst.Call() if case == "BadDataNew":
                yield from self._new(node)
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute(attr=cst.Name(value="data")) as target)]):
                yield from self._assigned(node, target)
            case cst.Assign() | cst.AugAssign() | cst.Call() if case != "BadDataNew":
                yield from self._written(node)

    def unforeseen(self, line: int) -> Iterator[tuple[cst.CSTNode, str]]:
        """The function, which may read at one line what it writes at another."""
        del line
        self.code.sweep(found := _Functions())
        yield from [(one, "") for one in found.nodes if any(map(_is_access, every(one)))][:1]

    def _everywhere(self, function: cst.FunctionDef) -> Iterator[Rewrite]:
        written = [one for one in every(function) if isinstance(one, cst.Assign | cst.AugAssign) and _writes_data(one)]
        inside = {id(part) for one in written for part in every(one)}
        read = [one for one in every(function) if _is_access(one) and id(one) not in inside]
        changes = [change for one in written for way in self._written_whole(one) for change in way.changes]
        changes += [self._detached(one) for one in read if isinstance(one, cst.Attribute)]
        yield Rewrite("go through `.detach()` everywhere", tuple(changes))

    def _written_whole(self, node: cst.Assign | cst.AugAssign) -> Iterator[Rewrite]:
        match node:
            case cst.Assign(targets=[cst.AssignTarget(target=cst.Attribute() as target)]):
                yield from self._assigned(node, target)
            case cst.AugAssign(target=cst.Attribute() as target):
                yield from self._augmented(node, target)

    def _detached(self, node: cst.Attribute) -> Change:
        return Change(node.attr, "detach()")

    def _trusted(self, node: cst.Attribute) -> Applicability:
        """A write into what `.detach()` gives is seen by autograd, and one into `.data` is not: safe is only what is
        computed with at once."""
        at_once = isinstance(self.code.parent(node), cst.BinaryOperation | cst.Comparison | cst.ComparisonTarget)
        return where_certain(self.code, node.value) if at_once else Applicability.UNSAFE

    def _written(self, node: cst.CSTNode) -> Iterator[Rewrite]:
        accesses = [one for one in every(node) if isinstance(one, cst.Attribute) and _is_access(one)]
        if isinstance(node, cst.AugAssign) and isinstance(node.target, cst.Attribute) and _is_access(node.target):
            yield from self._augmented(node, node.target)
            return
        yield Rewrite("write it through `.detach()`", tuple(self._detached(one) for one in accesses))

    def _augmented(self, node: cst.AugAssign, target: cst.Attribute) -> Iterator[Rewrite]:
        if (method := _IN_PLACE.get(type(node.operator))) is not None:
            text = f"{as_owner(self.code, target.value)}.detach().{method}({self._without_data(node.value)})"
            yield Rewrite("write it through `.detach()`", (Change(node, text),))

    def _assigned(self, node: cst.Assign, target: cst.Attribute) -> Iterator[Rewrite]:
        """`y.data = …` writes all of y."""
        value = self._without_data(node.value)
        yield Rewrite(
            "write it through `.detach()`",
            (Change(node, f"{as_owner(self.code, target.value)}.detach().copy_({value})"),),
        )

    def _without_data(self, node: cst.BaseExpression) -> str:
        new = node.visit(_Detaching())
        assert isinstance(new, cst.BaseExpression)  # noqa: S101 - a call stands where an attribute stood
        return cst.Module([]).code_for_node(new.with_changes(lpar=[], rpar=[]))

    def _new(self, node: cst.Call) -> Iterator[Rewrite]:
        """`x.data.new(3)` makes a tensor of such sizes with nothing in it."""
        if isinstance(node.func, cst.Attribute) and isinstance(access := node.func.value, cst.Attribute) and node.args:
            sizes = ", ".join(self.source(one.value) for one in node.args)
            made = f"{as_owner(self.code, access.value)}.new_empty({sizes})"
            yield Rewrite("make it with `new_empty`", (Change(node, made),))


def _is_access(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Attribute) and node.attr.value == "data"


def _writes_data(node: cst.Assign | cst.AugAssign) -> bool:
    target = node.target if isinstance(node, cst.AugAssign) else node.targets[0].target
    return _is_access(target)


class _Functions(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[cst.FunctionDef] = []

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        self.nodes.append(node)


class _Detaching(cst.CSTTransformer):
    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if not _is_access(original_node):
            return updated_node
        return cst.Call(
            cst.Attribute(updated_node.value, cst.Name("detach")), lpar=updated_node.lpar, rpar=updated_node.rpar
        )
