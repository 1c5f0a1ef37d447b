"""Tensors of a trace, which have no data, and the marks that torch keeps on real ones."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch._guards import detect_fake_mode
from torch._subclasses import meta_utils
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from exportlint.trial.child.torch_private import pytree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


T = TypeVar("T")
# Those that stand for tensors while a model is traced.
OF_A_TRACE = (FakeTensor, FunctionalTensor)
# Says whether a distribution checks its arguments.
CHECKS_ARGUMENTS = "_validate_args"


def is_fake(value: Any) -> bool:
    """A tensor of a trace, without data."""
    # By its type: isinstance asks the value for its class, and a weak proxy whose object is gone raises then.
    return issubclass(type(value), FakeTensor)


def with_fakes(call: Callable[[Any], T], arguments: Any) -> T:
    """Call with fake tensors in the place of the tensors, as the tracer does; sizes that are data may come out."""
    mode = FakeTensorMode(shape_env=ShapeEnv(allow_dynamic_output_shape_ops=True, allow_scalar_outputs=True))
    with torch.no_grad(), mode:
        return call(
            pytree.tree_map_only(Tensor, lambda tensor: mode.from_tensor(tensor, static_shapes=True), arguments)
        )


def writes_in_place(tensor: Tensor) -> int:
    """How often the tensor was written in place."""
    return int(tensor._version)


def unplaced_sizes(values: list[Any]) -> list[Any]:
    """Of a graph whose nodes have these values: the sizes read from data that still wait for their tensor."""
    mode = detect_fake_mode(values)
    waiting: list[Any] = getattr(mode and mode.shape_env, "pending_fresh_unbacked_symbols", [])
    return waiting


def forget_unplaced_sizes(value: Any) -> None:
    """Of the trace that a fake tensor is of."""
    shapes = getattr(getattr(value, "fake_mode", None), "shape_env", None)
    getattr(shapes, "pending_fresh_unbacked_symbols", []).clear()


@contextmanager
def real_parameters() -> Iterator[None]:
    """While it is open, torch copies a parameter's values where it makes a real tensor for it.

    draft_export computes with real tensors beside the fake ones, and takes the side of a branch that they take. Torch
    2.13 copies only what is of the type torch.Tensor itself into them (`_safe_copy` in torch/_subclasses/meta_utils),
    so a parameter's real tensor keeps what the memory held before: other issues in every run, or a failure at a nan.
    """
    copy = getattr(meta_utils, "_safe_copy", None)
    if copy is None:
        yield
        return

    def copied(to: Tensor, source: Tensor | None) -> None:
        copy(to, source.data if isinstance(source, nn.Parameter) else source)

    with patch.object(meta_utils, "_safe_copy", copied):
        yield


_BEFORE = 4  # FakeTensors that are made before the one that is meant


def perturbed(function: Callable[[], T]) -> T:
    """Call `function` while objects are made at other addresses: a fork has the very addresses of its parent.

    Python keeps a heap for each size of small objects (16 to 512 bytes), so there is ballast of every size for its
    free places. An object that dies in both processes leaves its place to the same new one, so other FakeTensors take
    such places first (8 of 40 exports of `id(x)` gave one address twice without them, 3 of 40 with one, 0 of 60 with
    four). Those that torch makes must die when it lets them: one that is kept can be found among the program's
    constants, and refused (as the export of a distribution was).
    """
    ballast: list[Any] = [bytes(size) for size in range(1, 480, 16) for _ in range(2_000)]
    make = FakeTensor.__new__

    def make_elsewhere(*args: Any, **kwargs: Any) -> Any:
        ballast.extend(make(*args, **kwargs) for _ in range(_BEFORE))
        return make(*args, **kwargs)

    with patch.object(FakeTensor, "__new__", make_elsewhere):
        return function()
