"""Operators: their schemas, the custom ones with where they are defined, and calls that a mode sees."""

from __future__ import annotations

from typing import Any

import torch
from torch._higher_order_ops.while_loop import while_loop
from torch.utils._python_dispatch import TorchDispatchMode

__all__ = ["TorchDispatchMode", "definition", "fake_kernel", "is_operator", "namespaces", "schema_of", "while_loop"]


def is_operator(target: Any) -> bool:
    """Is what a node calls an operator of the dispatcher?"""
    return isinstance(target, torch._ops.OpOverload)


def schema_of(target: Any) -> Any:
    """What an operator takes, gives and writes to; None for a call of another kind."""
    return getattr(target, "_schema", None)


def namespaces() -> frozenset[str]:
    """Of all operators that there are now."""
    return frozenset(name.partition("::")[0] for name in torch._C._dispatch_get_all_op_names())


def definition(name: str) -> Any:
    """The function of an operator that `torch.library.custom_op` made; None for others."""
    return getattr(_defined().get(name), "_init_fn", None)


def fake_kernel(name: str) -> tuple[Any, str]:
    """The function that was registered as an operator's fake kernel; else where it stands, as torch notes it."""
    from torch._library.simple_registry import singleton  # noqa: PLC0415 - torch moves it

    if function := getattr(_defined().get(name), "_abstract_fn", None):
        return function, ""
    return None, str(getattr(getattr(singleton.find(name).fake_impl, "kernel", None), "source", ""))


def _defined() -> Any:
    from torch._library.custom_ops import OPDEFS  # noqa: PLC0415 - as above

    return OPDEFS
