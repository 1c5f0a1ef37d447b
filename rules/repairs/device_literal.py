"""New tensors are made where the input is, and moves to a device by its name are left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint import Change, Repair, Rewrite, root_name
from exportlint.rewriting.source.assigned_names import every, whole_function
from exportlint.rewriting.source.source_of_calls import in_statement_alone, operand

if TYPE_CHECKING:
    from collections.abc import Iterator


class DeviceOfInput(Repair):
    def rewrites(self, node: cst.CSTNode, case: str) -> Iterator[Rewrite]:
        if not isinstance(node, cst.Call):
            return
        match case:
            case "BadFactory" | "BadCudaFactory":
                yield from self._made_there(node)
            case "BadDeviceObject" if (tensor := self._tensor(node)) is not None:
                yield Rewrite("take the device of the input", (Change(node, f"{tensor}.device"),))
            case "BadCpu" | "BadCuda" | "BadTo" if isinstance(node.func, cst.Attribute):
                yield from self._unmoved(node, node.func.value)

    def _made_there(self, node: cst.Call) -> Iterator[Rewrite]:
        tensor = self._tensor(node)
        device = next((arg.value for arg in node.args if arg.keyword and arg.keyword.value == "device"), None)
        if tensor is not None and device is not None:
            yield Rewrite("take the device of the input", (Change(device, f"{tensor}.device"),))

    def _unmoved(self, node: cst.Call, owner: cst.BaseExpression) -> Iterator[Rewrite]:
        rest = [arg for arg in node.args if not _is_place(arg)]
        if in_statement_alone(self.code, node) is not None:
            return
        tensor = self._tensor(node)
        if rest:
            kept = ", ".join(
                cst.Module([]).code_for_node(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for arg in rest
            )
            yield Rewrite("leave the device out", (Change(node, f"{operand(self.code, owner)}.to({kept})"),))
        elif self._comes_from_elsewhere(owner) and tensor is not None:
            text = f"{operand(self.code, owner)}.to({tensor}.device)"
            yield Rewrite("move it to the input", (Change(node, text),))
        else:
            yield Rewrite("leave the move out", (Change(node, operand(self.code, owner)),))

    def _comes_from_elsewhere(self, owner: cst.BaseExpression) -> bool:
        """An attribute that may be no buffer, or a tensor that is made right here."""
        made = isinstance(owner, cst.Call) and (self.code.name(owner.func) or "").startswith("torch.")
        inputs = any(isinstance(one, cst.Name) and self._is_input(one) for one in every(owner))
        return (root_name(owner) == "self" and not isinstance(owner, cst.Call)) or (made and not inputs)

    def _tensor(self, node: cst.CSTNode) -> str | None:
        """The first parameter that is a tensor; that of a forward is one, as a rule."""
        function = self.code.function
        if function is None:
            return None
        names = [one for one in every(whole_function(self.code, node)) if isinstance(one, cst.Name)]
        tensors = {one.value for one in names if self._is_input(one) and self.code.value(one).is_tensor}
        given = [name for name in function.parameters if name != "self"]
        found = next((name for name in given if name in tensors), None)
        return found or (given[0] if given and function.name == "forward" else None)

    def _is_input(self, node: cst.Name) -> bool:
        return self.code.function is not None and node.value in self.code.function.parameters and node.value != "self"


def _is_place(arg: cst.Arg) -> bool:
    """The device, or how to copy to it."""
    if arg.keyword is not None:
        return arg.keyword.value in {"device", "non_blocking"}
    return isinstance(arg.value, cst.SimpleString | cst.Integer)
