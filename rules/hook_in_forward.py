"""A hook is registered while forward runs.

Why: registering a hook changes a module or a tensor, not the values that flow. Strict mode refuses it on modules. In
non-strict mode the hook runs while tracing; one that stays registered runs once more with every eager call and once
for all in the program. A gradient hook on a tensor is no operation: the program exports without it and computes
another gradient.

Instead: return the intermediate result, or register the hook in `__init__` if it only changes the value passing
through. For another gradient write a `torch.autograd.Function`.
"""

from __future__ import annotations

from typing import ClassVar

import libcst as cst

from exportlint import Case, Code, Kind, Rule, Severity, called

_RETURN = "return the intermediate result, or register a hook without state in `__init__`"


class HookInForward(Rule):
    mended_by = ("interface",)
    words = r"register_(module_)?(full_)?(forward|backward|hook|post_accumulate)\w*"
    graph_breaks = ("GB0083", "GB0029", "GB0467")
    shown_by = ("gradients",)
    cases: ClassVar = {
        "BadForwardHook": Case("`{code}` registers a hook on a module for the time of one call", _RETURN),
        "BadPreHook": Case("`{code}` registers one more hook with every call", _RETURN),
        "BadFullBackwardHook": Case("`{code}` registers a backward hook in forward", _RETURN),
        "BadTensorHook": Case(
            "`{code}` changes a gradient by a hook, which is no part of the program",
            "write a `torch.autograd.Function` with the gradient you want",
        ),
    }

    def __init__(self, code: Code) -> None:
        super().__init__(code)
        self._kept: set[cst.CSTNode] = set()

    def visit_Assign(self, node: cst.Assign) -> None:
        self._kept.add(node.value)

    def visit_Call(self, node: cst.Call) -> None:
        if not isinstance(node.func, cst.Attribute):
            return
        owner = self.code.value(node.func.value)
        match called(node):
            case "register_hook" | "register_post_accumulate_grad_hook" if owner.is_tensor:
                self.report(node, "BadTensorHook", because=owner, at_most=Severity.WARNING)
            case "register_forward_hook" | "register_forward_pre_hook" if owner.kind in {Kind.MODULE, Kind.UNKNOWN}:
                at_most = Severity.ERROR if owner.kind is Kind.MODULE else Severity.WARNING
                self.report(node, "BadForwardHook" if node in self._kept else "BadPreHook", at_most=at_most)
            case "register_full_backward_hook" | "register_full_backward_pre_hook" | "register_backward_hook":
                if owner.kind is Kind.MODULE:
                    self.report(node, "BadFullBackwardHook")
