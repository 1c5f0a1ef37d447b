"""Calls of names that torch's export interface had, as calls of those that took their place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import libcst as cst

from exportlint.rule.script_rule import argument

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.rule.code import Code


_OPERATORS = {"cond": "torch.cond", "while_loop": "torch.while_loop"}
_HIGHER = {"scan": "torch._higher_order_ops.scan", "associative_scan": "torch._higher_order_ops.associative_scan"}
_MAP = "functorch.experimental.control_flow.map"
_RENAMED = {
    **dict.fromkeys(("torch.export.export_for_training", "torch.export.export_for_inference"), "torch.export.export"),
    **{f"torch._export.{name}": f"torch.export.{name}" for name in ("export", "save", "load")},
    "torch._export.export_for_training": "torch.export.export",
    "torch._export.ExportedProgram": "torch.export.ExportedProgram",
    "torch._export.exported_program.ExportedProgram": "torch.export.ExportedProgram",
    "torch.export.core_aten_decompositions": "torch.export.default_decompositions",
    **{f"torch.func.{name}": now for name, now in (_OPERATORS | _HIGHER).items()},
    **{f"torch.{name}": now for name, now in _HIGHER.items()},
    **dict.fromkeys(("torch.map", "torch.func.map", "torch.ops.higher_order.map"), _MAP),
}
_IMPORTED = {_MAP: "functorch.experimental.control_flow"}
_BOUNDS = frozenset({"constrain_as_value", "constrain_as_size", "_constrain_as_value", "_constrain_as_size"})


def replaced_name(name: str) -> str | None:
    """The dotted name of what took the place of a function or class, and is called alike."""
    return _RENAMED.get(name)


def is_replaced(name: str) -> bool:
    """Does `replaced_call` know the name?"""
    return name in _RENAMED or name in _SPECIAL or name.rpartition(".")[2] in _BOUNDS


def module_of(name: str) -> str:
    """The module to import for a dotted name."""
    return _IMPORTED.get(name, "torch")


def replaced_call(code: Code, call: cst.Call, name: str) -> str | None:
    """The text of a call of `name` as today's; None where nothing takes its place so directly."""
    last = name.rpartition(".")[2]
    if name in _RENAMED:
        given = ", ".join(code.source_of(arg).rstrip(", \n") for arg in call.args)
        return f"{_RENAMED[name]}({given})"
    special = _SPECIAL.get(name) or (_checks if last in _BOUNDS else None)
    return special(code, call) if special else None


def _captured(code: Code, call: cst.Call) -> str:
    given = ", ".join(code.source_of(arg).rstrip(", \n") for arg in call.args)
    return f"torch.export.export({given}).module()"


def _onnx(code: Code, call: cst.Call) -> str | None:
    if not call.args or any(arg.keyword for arg in call.args):
        return None
    model, *given = (code.source_of(arg).rstrip(", \n") for arg in call.args)
    return f"torch.onnx.export({model}, ({', '.join(given)},), dynamo=True)"


def _traced(code: Code, call: cst.Call) -> str | None:
    """`torch._dynamo.export(model)(x)`, of which this is the inner call; the outer one is given the sample."""
    outer = code.parent(call)
    if not isinstance(outer, cst.Call) or outer.func is not call or len(call.args) != 1 or not outer.args:
        return None
    if any(arg.keyword for arg in outer.args):
        return None
    given = ", ".join(code.source_of(arg).rstrip(", \n") for arg in outer.args)
    return f"torch.export.export({code.source_of(call.args[0].value)}, ({given},))"


def _is_size(code: Code, call: cst.Call) -> str | None:
    number = argument(call, 0, "b") or argument(call, 0, "i")
    return f"torch._check({_operand(code, number)} >= 0)" if number is not None and len(call.args) == 1 else None


def _checks(code: Code, call: cst.Call) -> str | None:
    """One line for each bound."""
    number, low, high = (argument(call, place, word) for place, word in enumerate(("symbol", "min", "max")))
    if number is None:
        return None
    least = _limit(code, low) or ("0" if "size" in code.source_of(call.func) else None)
    tests = [
        f"{_operand(code, number)} {sign} {limit}"
        for sign, limit in ((">=", least), ("<=", _limit(code, high)))
        if limit
    ]
    return "\n".join(f"torch._check({test})" for test in tests) or None


def _limit(code: Code, node: cst.BaseExpression | None) -> str | None:
    return None if node is None or (isinstance(node, cst.Name) and node.value == "None") else _operand(code, node)


def _operand(code: Code, node: cst.BaseExpression) -> str:
    text = code.source_of(node)
    is_atom = isinstance(node, cst.Name | cst.Attribute | cst.Subscript | cst.Call | cst.Integer | cst.Float)
    return text if is_atom else f"({text})"


def _dynamic(code: Code, call: cst.Call) -> str:
    del code, call
    return "torch.export.Dim.DYNAMIC"


_SPECIAL: dict[str, Callable[[Code, cst.Call], str | None]] = {
    "torch._export.capture_pre_autograd_graph": _captured,
    "torch.onnx.dynamo_export": _onnx,
    "torch._dynamo.export": _traced,
    "torch._check_is_size": _is_size,
    "torch.export.dynamic_dim": _dynamic,
    "torch._export.dynamic_dim": _dynamic,
}
