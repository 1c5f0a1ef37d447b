"""Run an operator on fake tensors, as the tracer does, and compare with what it really gave."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils import _pytree as pytree

from exportlint.trial.child.custom_operators.varied_calls import Arguments, Observed, Result, called, results_of

if TYPE_CHECKING:
    from collections.abc import Sequence


_MISSING = "no fake impl registered"


def fake_results(operator: Any, arguments: Arguments) -> tuple[Any, ...]:
    """What the tracer takes for the results; raises what torch raises."""
    mode = FakeTensorMode(shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True, allow_scalar_outputs=True))
    with torch.no_grad(), mode:
        fakes = pytree.tree_map_only(
            torch.Tensor, lambda tensor: mode.from_tensor(tensor, static_shapes=True), arguments
        )
        return results_of(called(operator, fakes))


def lacks_fake_kernel(operator: Any, arguments: Arguments) -> bool:
    """Does torch say that it has none?"""
    try:
        fake_results(operator, arguments)
    except Exception as exc:  # noqa: BLE001 - a fake kernel may raise anything
        text = f"{exc} {exc.__cause__ or ''}"
        return _MISSING in text or type(exc).__name__ == "UnsupportedOperatorException"
    return False


def disagreement(real: Observed, fake: Sequence[Any]) -> tuple[str, str] | None:
    """The first result that both describe otherwise, in words, the real one first."""
    if len(real.results) != len(fake):
        return f"{len(real.results)} results", str(len(fake))
    ours, theirs = (pytree.tree_leaves(list(side)) for side in (real.results, fake))
    if len(ours) != len(theirs):
        return f"{len(ours)} tensors", str(len(theirs))
    for one, other in zip(ours, theirs, strict=True):
        if isinstance(one, Result) and isinstance(other, Result) and not _alike(one, other):
            return _words(one), _words(other)
    return None


def _alike(real: Result, fake: Result) -> bool:
    """A size of the fake one that is a symbol stands for any size."""
    same_kind = real.dtype == fake.dtype and len(real.shape) == len(fake.shape)
    return same_kind and all(
        not isinstance(other, int) or size == other for size, other in zip(real.shape, fake.shape, strict=True)
    )


def _words(result: Result) -> str:
    return f"{str(result.dtype).removeprefix('torch.')}[{', '.join(map(str, result.shape))}]"
