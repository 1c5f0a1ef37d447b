"""Flatten values of any structure to leaves with their paths, copied out."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.loading.as_first import is_gone
from exportlint.trial.child.torch_private.tensors import CHECKS_ARGUMENTS, is_fake

if TYPE_CHECKING:
    from collections.abc import Iterator


Leaves = list[tuple[str, Any]]
PLAIN = (bool, int, float, complex, str, bytes, type(None))


def leaves(value: Any, path: str = "", levels: int = 12) -> Iterator[tuple[str, Any]]:
    """Every tensor and plain value inside, with its path such as `[0].logits`; lengths and keys are leaves too."""
    if is_gone(value):
        yield path, type(value).__name__
    elif isinstance(value, (torch.Tensor, *PLAIN)):
        yield path, value
    elif levels == 0:  # a cycle, or nothing that anybody compares
        yield path, type(value).__name__
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for item in dataclasses.fields(value):
            yield from leaves(getattr(value, item.name, None), f"{path}.{item.name}", levels - 1)
    elif isinstance(value, dict):
        held = _held(value)
        yield f"{path}.keys()", [str(key) for key in held]
        for key, item in held.items():
            yield from leaves(item, f"{path}[{key!r}]", levels - 1)
    elif isinstance(value, (list, tuple)):
        yield f"len({path})", len(value)
        for index, item in enumerate(value):
            yield from leaves(item, f"{path}[{index}]", levels - 1)
    elif hasattr(value, "__dict__") and not isinstance(value, type) and not callable(value):
        yield from leaves(_attributes(value), path, levels - 1)
    else:
        yield path, _in_words(value)


def _held(value: dict[Any, Any]) -> dict[Any, Any]:
    """What is in it already: a subclass may make values when it is asked, such as a table of classes that imports each
    of them."""
    kind: type[dict[Any, Any]] = OrderedDict if isinstance(value, OrderedDict) else dict
    return dict(kind.items(value))


def _attributes(value: Any) -> dict[str, Any]:
    """Without what says whether a distribution checks its arguments: it computes the same."""
    checks = CHECKS_ARGUMENTS if isinstance(value, torch.distributions.Distribution) else None
    return {name: held for name, held in vars(value).items() if name != checks}


def _in_words(value: Any) -> str:
    kind = type(value).__name__
    return f"{kind} of {len(value)}" if isinstance(value, (set, frozenset)) else kind


def snapshot(value: Any, levels: int = 12) -> Leaves:
    """The leaves as they are now; later writes do not reach them. Safe to pickle."""
    return [(path, _kept(leaf)) for path, leaf in leaves(value, levels=levels)]


def _kept(leaf: Any) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return leaf if type(leaf) in (*PLAIN, list) else str(leaf)
    if is_fake(leaf):
        return f"FakeTensor{tuple(leaf.shape)}"
    try:
        return _dense(leaf.detach()).clone().cpu()
    except Exception as exc:  # noqa: BLE001 - exotic tensors; the sentence takes the value's place
        return f"{type(leaf).__name__} that cannot be copied ({type(exc).__name__})"


def _dense(tensor: torch.Tensor) -> torch.Tensor:
    if tensor.is_quantized:
        tensor = tensor.dequantize()
    if getattr(tensor, "is_nested", False):
        return tensor.to_padded_tensor(0.0)
    if tensor.layout != torch.strided:
        return tensor.to_dense()
    # `.data` of a subclass or a conjugate view would compare by object; contiguous plain data does not.
    return tensor.as_subclass(torch.Tensor).resolve_conj().resolve_neg()
