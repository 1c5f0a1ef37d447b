"""How far a rewrite may be trusted that is right for tensors alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from exportlint.finding import Applicability

if TYPE_CHECKING:
    import libcst as cst

    from exportlint.rule.code import Code


def where_certain(code: Code, node: cst.BaseExpression) -> Applicability:
    """Safe where the engine knows what the expression is, whoever calls: in forward itself. A helper may be called with
    anything."""
    is_forward = code.function is not None and code.function.name == "forward"
    return Applicability.SAFE if is_forward and code.value(node).certain else Applicability.UNSAFE
