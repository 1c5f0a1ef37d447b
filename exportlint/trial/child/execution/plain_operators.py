"""`torch.cond` and `while_loop` as the plain Python that they stand for.

torch's own refuse in eager, too, what they cannot put into a program, such as a branch that gives its operand back.
What such a model is meant to compute, plain Python tells.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.torch_private.operators import while_loop

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def _cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    given = operands if isinstance(operands, (tuple, list)) else (operands,)
    return true_fn(*given) if pred else false_fn(*given)


def _while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    for _ in range(10_000):
        if not cond_fn(*carried_inputs):
            return carried_inputs
        carried_inputs = body_fn(*carried_inputs)
    raise RuntimeError("too many steps")


_PLAIN: tuple[tuple[Any, Any], ...] = ((torch.cond, _cond), (while_loop, _while_loop))


@contextlib.contextmanager
def plain_operators() -> Iterator[None]:
    """Inside of the block they are; by their code, since models import them under many names."""
    kept = [(operator, operator.__code__) for operator, _ in _PLAIN]
    for operator, plain in _PLAIN:
        operator.__code__ = plain.__code__
    try:
        yield
    finally:
        for operator, code in kept:
            operator.__code__ = code
