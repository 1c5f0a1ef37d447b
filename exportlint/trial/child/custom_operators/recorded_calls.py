"""Record the calls of custom operators that eager makes, each with copies of its arguments."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.loading.seeding import seed

if TYPE_CHECKING:
    from exportlint.trial.child.loading.loaded import Loaded


def _namespaces() -> frozenset[str]:
    names = torch._C._dispatch_get_all_op_names()  # noqa: SLF001 - no public name
    return frozenset(name.partition("::")[0] for name in names)


# What is there before a target is imported; the fake kernels of these operators are torch's own affair.
_OF_TORCH = _namespaces() | {"prim", "prims", "higher_order"}
_MOST_CALLS = 2  # of each operator; the later ones mostly repeat the first
_MOST_BYTES = 64 << 20


@dataclass(frozen=True)
class OperatorCall:
    """One call, with the arguments as they were before it."""

    operator: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    @property
    def name(self) -> str:
        """`namespace::operator`, with its overload if it has a name."""
        return str(self.operator.name())


def custom_operator_calls(loaded: Loaded) -> list[OperatorCall]:
    """The first calls of each custom operator that eager makes on the sample."""
    if _namespaces() <= _OF_TORCH:
        return []
    model = loaded.eager()
    args, kwargs = inputs_of(loaded, 0)
    seed(0)
    kept = _KeptCalls()
    # Eager `torch.cond` compiles, and that fails under a mode: what was called until then counts.
    with suppress(Exception), torch.no_grad(), kept:
        model(*args, **kwargs)
    return kept.calls


@dataclass
class _KeptCalls(TorchDispatchMode):  # type: ignore[misc]  # torch leaves it untyped
    calls: list[OperatorCall] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()

    def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if getattr(func, "namespace", "higher_order") not in _OF_TORCH:
            self._keep(OperatorCall(func, tuple(args), dict(kwargs or {})))
        return func(*args, **(kwargs or {}))

    def _keep(self, call: OperatorCall) -> None:
        tensors = [leaf for leaf in pytree.tree_leaves((call.args, call.kwargs)) if isinstance(leaf, torch.Tensor)]
        small = sum(tensor.numel() * tensor.element_size() for tensor in tensors) < _MOST_BYTES
        if small and sum(known.operator is call.operator for known in self.calls) < _MOST_CALLS:
            self.calls.append(OperatorCall(call.operator, *copies((call.args, call.kwargs))))


def copies(value: Any) -> Any:
    """The same structure with tensors of its own, which keep their layout in memory."""
    return pytree.tree_map_only(torch.Tensor, lambda tensor: tensor.detach().clone(), value)
