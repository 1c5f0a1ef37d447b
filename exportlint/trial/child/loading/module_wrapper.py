"""Wrap a method or a function in a module that calls it, since torch.export takes modules only."""

from __future__ import annotations

import functools
import inspect
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.torch_private.dynamo import uncompiled_function

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_Parameter = inspect.Parameter


class Wrapped(torch.nn.Module):  # type: ignore[misc]  # mypy does not read torch
    """A module whose forward is the call. The modules that the call uses are its own, so that export sees weights."""

    bare: Callable[..., Any]

    def __init__(self, bare: Callable[..., Any]) -> None:
        super().__init__()
        self.bare = bare
        for name, module in _parts(bare):
            self.add_module(name if not hasattr(self, name) else f"{name}_", module)

    @property
    def in_words(self) -> str:
        """What was wrapped, and its name."""
        kind = "bound method" if isinstance(self.bare, MethodType) else "callable"
        kind = "function" if isinstance(self.bare, (FunctionType, BuiltinFunctionType)) else kind
        return f"{kind} {getattr(self.bare, '__qualname__', type(self.bare).__name__)}"


def wrapped(call: Any) -> Any:
    """Wrap a callable in a module whose forward has the same parameters; a module stays as it is."""
    if isinstance(call, torch.nn.Module) or not callable(call):
        return call
    call = uncompiled_function(call)
    return type(_name(call), (Wrapped,), {"forward": _forward(call)})(call)


def is_called_with_arguments(found: Any) -> bool:
    """Does a call need arguments? Then it is no maker of something, but what is to be exported."""
    if isinstance(found, type) or not callable(found):
        return False
    try:
        parameters = inspect.signature(found).parameters.values()
    except (TypeError, ValueError):
        return isinstance(found, BuiltinFunctionType)
    starred = (_Parameter.VAR_POSITIONAL, _Parameter.VAR_KEYWORD)
    return any(one.default is _Parameter.empty and one.kind not in starred for one in parameters)


def _name(call: Any) -> str:
    name = getattr(call, "__name__", type(call).__name__)
    return "".join(part.capitalize() for part in name.split("_") if part.isalnum()) or "Wrapped"


def _parts(call: Any) -> Iterator[tuple[str, torch.nn.Module]]:
    """The modules that a call can reach, by the names it has for them."""
    for name, value in _reached(call).items():
        if isinstance(value, torch.nn.Module):
            yield name, value
        elif isinstance(value, (list, tuple)):
            yield from ((f"{name}_{n}", item) for n, item in enumerate(value) if isinstance(item, torch.nn.Module))


def _reached(call: Any) -> Mapping[str, Any]:
    if isinstance(call, MethodType):
        owner = call.__self__
        return {"owner": owner} if isinstance(owner, torch.nn.Module) else dict(getattr(owner, "__dict__", {}))
    if isinstance(call, functools.partial):
        given = {f"argument_{number}": value for number, value in enumerate(call.args)}
        return {**_reached(call.func), **given, **call.keywords}
    if isinstance(call, FunctionType):
        closed = inspect.getclosurevars(call)
        return {**closed.globals, **closed.nonlocals}
    return dict(getattr(call, "__dict__", {}))


class _Text:
    """Shown as it is where a signature shows a default."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _forward(call: Callable[..., Any]) -> Any:
    """Written as a person would, because both tracers and `dynamic_shapes` read the parameters of forward."""
    try:
        parameters = list(inspect.signature(call).parameters.values())
    except (TypeError, ValueError):  # a function of C
        parameters = [_Parameter("args", _Parameter.VAR_POSITIONAL), _Parameter("kwargs", _Parameter.VAR_KEYWORD)]
    defaults = {f"_{one.name}": one.default for one in parameters if one.default is not _Parameter.empty}
    head = inspect.Signature([_Parameter("self", _Parameter.POSITIONAL_OR_KEYWORD), *map(_plain, parameters)])
    text = f"def forward{head}:\n    return self.bare({', '.join(map(_passed, parameters))})\n"
    exec(compile(text, "<a module around the call>", "exec"), defaults)  # noqa: S102 - our own text
    return defaults["forward"]


def _plain(parameter: inspect.Parameter) -> inspect.Parameter:
    default = _Parameter.empty if parameter.default is _Parameter.empty else _Text(f"_{parameter.name}")
    # A strict export of torch 2.13 stumbles over parameters that are positional only.
    is_positional = parameter.kind is _Parameter.POSITIONAL_ONLY
    kind = _Parameter.POSITIONAL_OR_KEYWORD if is_positional else parameter.kind
    return parameter.replace(annotation=_Parameter.empty, default=default, kind=kind)


def _passed(parameter: inspect.Parameter) -> str:
    match parameter.kind:
        case _Parameter.VAR_POSITIONAL:
            return f"*{parameter.name}"
        case _Parameter.VAR_KEYWORD:
            return f"**{parameter.name}"
        case _Parameter.KEYWORD_ONLY:
            return f"{parameter.name}={parameter.name}"
    return str(parameter.name)
