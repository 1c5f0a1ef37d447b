"""A device written into the model becomes a constant of the program.

Why: the tracer records the device that a factory call or a move is given. With `device=x.device` the same code
exports for any device; with a literal it exports for one, because on another the new tensor and the inputs do not meet
("Expected all tensors to be on the same device"). A GPU literal cannot even be exported on a machine without one.

Instead: make new tensors where the input is, and keep tables as buffers, which move with the module.

    table = torch.arange(4, device=x.device)          # instead of device="cpu"
    self.register_buffer("table", torch.arange(4))
"""

from __future__ import annotations

import ast
import re
from typing import ClassVar

import libcst as cst

from exportlint import Case, Code, Kind, Rule, Severity, called

_INPUT = "use `device=x.device`, `x.new_zeros(...)`, or a registered buffer"
_MOVE = "leave the move to the caller; keep tables as buffers, which move with the module"
_DEVICE = re.compile(r"(cpu|cuda|mps|xpu|hpu|npu|xla|mtia|privateuseone)(:\d+)?")
# These take the kind of device, not a place for a tensor.
_KIND_ONLY = frozenset(
    {"autocast", "is_autocast_enabled", "get_autocast_dtype", "GradScaler", "custom_fwd", "startswith"}
)


_ASKS_DEVICE = re.compile(r"\.device\b|\bis_(cuda|mps|cpu|xpu|npu|available)\b")


class DeviceLiteral(Rule):
    mended_by = ("templates",)
    shown_by = ("other-device",)
    cases: ClassVar = {
        "BadFactory": Case("`{code}` makes a tensor on a device that is written into the model", _INPUT),
        "BadDeviceObject": Case("`{code}` names a device in the model; with weights on another one", _INPUT),
        "BadCpu": Case("`{code}` moves a tensor to the CPU; with weights on another device", _MOVE),
        "BadTo": Case("`{code}` moves a tensor to a device that the model names; with weights on another one", _MOVE),
        "BadCuda": Case("`{code}` moves a tensor to the GPU", _MOVE),
        "BadCudaFactory": Case("`{code}` makes a tensor on a GPU that is written into the model", _INPUT),
    }

    @classmethod
    def concerns(cls, code: Code) -> bool:
        """Is a tensor moved, or a device named in a call?"""
        return any(
            call.method in {"cpu", "cuda"} or any(map(_names_device, call.arguments)) for call in code.sketch.calls
        )

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._asked = 0

    def visit_If_body(self, node: cst.If) -> None:
        self._asked += self._asks_device(node.test)

    def leave_If_body(self, node: cst.If) -> None:
        self._asked -= self._asks_device(node.test)

    def _asks_device(self, test: cst.BaseExpression) -> bool:
        """`if x.device.type == "mps":` guards what is meant for that device only."""
        return bool(_ASKS_DEVICE.search(self.code.text(test)))

    def visit_WithItem(self, node: cst.WithItem) -> bool:
        """`with torch.device("cpu"):` is a setting, and another rule's business."""
        return not isinstance(node.item, cst.Call)

    def visit_Call(self, node: cst.Call) -> None:
        method = called(node) or ""
        if method in _KIND_ONLY or self._asked:
            return
        if method in {"cpu", "cuda"} and isinstance(node.func, cst.Attribute):
            self._move(node, node.func.value, method)
        elif method == "to" and isinstance(node.func, cst.Attribute):
            if any(_literal(arg.value) for arg in node.args[:1]) or _keyword(node):
                self._move(node, node.func.value, method)
        elif self.code.name(node.func) == "torch.device":
            if node.args and (device := _literal(node.args[0].value)):
                self.report(node, "BadDeviceObject", at_most=_severity(device))
        elif device := _keyword(node):
            case = "BadFactory" if device == "cpu" else "BadCudaFactory"
            self.report(node, case, at_most=Severity.WARNING)

    def _move(self, node: cst.Call, owner: cst.BaseExpression, method: str) -> None:
        value = self.code.value(owner)
        if value.is_tensor or (value.kind in (Kind.UNKNOWN, Kind.TENSOR) and method != "to"):
            case = {"cpu": "BadCpu", "cuda": "BadCuda"}.get(method, "BadTo")
            device = method if method != "to" else _keyword(node) or _literal(node.args[0].value) or ""
            self.report(node, case, at_most=_severity(device))


def _severity(device: str) -> Severity:
    """Most models are exported on the CPU, where a move to it changes nothing."""
    return Severity.NOTE if device.startswith("cpu") else Severity.WARNING


def _literal(node: cst.BaseExpression) -> str | None:
    """The device that a plain string names."""
    text = node.evaluated_value if isinstance(node, cst.SimpleString) else None
    return text if isinstance(text, str) and _DEVICE.fullmatch(text) else None


def _keyword(call: cst.Call) -> str | None:
    for arg in call.args:
        if arg.keyword and arg.keyword.value == "device":
            return _literal(arg.value)
    return None


def _names_device(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and bool(_DEVICE.fullmatch(node.value))
