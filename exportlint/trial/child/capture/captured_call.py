"""A call that a running script made: the model, its inputs, and the user's line."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from exportlint.trial.protocol.frames import is_installed, is_user_path

if TYPE_CHECKING:
    import inspect
    from collections.abc import Mapping


class CallSite(NamedTuple):
    """A line of the user's; None when no frame is the user's."""

    path: str | None
    line: int | None

    @property
    def in_project(self) -> bool:
        return self.path is not None and not is_installed(self.path)


class Parameters(NamedTuple):
    """The names of a watched call's parameters for the model and its inputs; "" where it has none."""

    model: str
    args: str = ""
    kwargs: str = ""
    dynamic_shapes: str = ""


class CapturedCall(NamedTuple):
    """One call of the script: what it was given, in the form that torch.export.export takes, and the user's line."""

    call: str
    site: CallSite
    model: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = {}
    dynamic_shapes: Any = None


def captured_call(call: str, site: CallSite, given: Mapping[str, Any], names: Parameters) -> CapturedCall:
    """The call's arguments, in the one form that torch.export.export takes."""
    model, args, kwargs, shapes = (given.get(name) for name in names)
    if isinstance(model, torch.export.ExportedProgram):
        args, kwargs = model.example_inputs or ((), {})
        return CapturedCall(call, site, _module_of(model), tuple(args), dict(kwargs))
    if isinstance(args, dict):
        args, kwargs = (), args
    args = (args,) if isinstance(args, torch.Tensor) else tuple(args or ())
    if call == "torch.onnx.export" and not kwargs and args and isinstance(args[-1], dict):
        args, kwargs = args[:-1], args[-1]  # what it makes of a dict at the end itself
    return CapturedCall(call, site, unwrapped(model), args, dict(kwargs or {}), shapes)


def _module_of(program: Any) -> Any:
    """The module of a program, marked as in eval mode: its mode was fixed by the export, whatever its flags are."""
    module = program.module()
    for part in module.modules():
        part.training = False
    return module


def bound(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Mapping[str, Any]:
    """The arguments by name; none when they do not fit, for which the call itself will raise."""
    try:
        return signature.bind(*args, **kwargs).arguments
    except TypeError:
        return {}


def unwrapped(model: Any) -> Any:
    """The module behind a wrapper of torch.compile, or behind its own call."""
    if isinstance(model, torch.nn.Module) and "_orig_mod" in vars(model).get("_modules", {}):
        return model._orig_mod  # noqa: SLF001 - where torch.compile keeps it
    owner, name = getattr(model, "__self__", None), getattr(model, "__name__", "")
    is_call = name in ("_call_impl", "_wrapped_call_impl", "__call__")
    return owner if is_call and isinstance(owner, torch.nn.Module) else model


def call_site() -> CallSite:
    """The innermost line of the user's own files that runs now; where there is none, of a library's."""
    frame, library = sys._getframe(1), CallSite(None, None)  # noqa: SLF001 - what inspect.currentframe() does
    while frame is not None:
        site = CallSite(os.path.abspath(frame.f_code.co_filename), frame.f_lineno)  # noqa: PTH100 - no links resolved
        if is_user_path(frame.f_code.co_filename):
            if site.in_project:
                return site
            library = library if library.path else site
        frame = frame.f_back  # type: ignore[assignment]
    return library
