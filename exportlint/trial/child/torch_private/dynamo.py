"""Dynamo: its settings, its log of graph breaks, and what it leaves on models and functions that it has compiled."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def reset() -> None:
    """Forget what was compiled."""
    torch._dynamo.reset()


def explain(model: Any) -> Any:
    """torch._dynamo.explain, which is called with the inputs."""
    return torch._dynamo.explain(model)


def as_in_export() -> Any:
    """A block in which Dynamo has the settings with which strict export runs it."""
    config: dict[str, Any] = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    with contextlib.suppress(ImportError):
        from torch.export._trace import DEFAULT_EXPORT_DYNAMO_CONFIG  # noqa: PLC0415 - not in every version

        config |= dataclasses.asdict(DEFAULT_EXPORT_DYNAMO_CONFIG)
    known = {name: value for name, value in config.items() if hasattr(torch._dynamo.config, name)}
    return torch._dynamo.config.patch(**known)


# `explain` lists only part of the breaks it meets, at its end; this log of Dynamo has all of them, with their place.
_LOGGER = "torch._dynamo.symbolic_convert.__graph_breaks"


@contextlib.contextmanager
def graph_breaks_logged(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell the text of every entry that Dynamo logs of a graph break inside of the block."""
    torch._logging.set_logs(graph_breaks=True)
    handler, logger = _Telling(tell), logging.getLogger(_LOGGER)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        torch._logging.set_logs()


class _Telling(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(level=0)
        self._tell = tell

    def emit(self, entry: logging.LogRecord) -> None:
        self._tell(entry.getMessage())


# What torch.compile calls from the code that it rewrites.
CALLED_IN_COMPILED = ("__compiled_fn", "__resume_at")


def uncompiled(model: Any) -> Any:
    """The module behind a wrapper of torch.compile, or behind its own call."""
    if isinstance(model, torch.nn.Module) and "_orig_mod" in vars(model).get("_modules", {}):
        return model._orig_mod
    owner, name = getattr(model, "__self__", None), getattr(model, "__name__", "")
    is_call = name in ("_call_impl", "_wrapped_call_impl", "__call__")
    return owner if is_call and isinstance(owner, torch.nn.Module) else model


def uncompiled_function(call: Any) -> Any:
    """The function that torch.compile was given."""
    return getattr(call, "_torchdynamo_orig_callable", call)


def called_one_further_away(kwargs: dict[str, Any]) -> None:
    """Tell torch.jit.script, which reads names off its caller's frame, that this is one further away."""
    kwargs["_frames_up"] = kwargs.get("_frames_up", 0) + 1


_FLAGS = ("_is_exporting_flag", "_is_compiling_flag")  # what `is_exporting()` and `is_compiling()` give; by version


@contextlib.contextmanager
def as_if_exporting() -> Iterator[None]:
    """Inside of the block torch says that it exports, and does not."""
    kept = {name: getattr(torch.compiler, name) for name in _FLAGS if hasattr(torch.compiler, name)}
    for name in kept:
        setattr(torch.compiler, name, True)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(torch.compiler, name, value)
