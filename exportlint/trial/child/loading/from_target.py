"""Turn a target into makers of a model and inputs; whatever user code does wrong becomes a TargetError."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch

from exportlint.trial.child.loading.imports import import_source, resolve
from exportlint.trial.child.loading.loaded import Loaded, Make, as_args, as_kwargs, copied, of_values
from exportlint.trial.child.loading.module_wrapper import is_called_with_arguments, wrapped
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.loading.zoo_models import load_zoo
from exportlint.trial.protocol.target import Target, TargetError, TargetKind


def load(target: Target) -> Loaded:
    """Import the target's files and modules and find its parts; builds nothing yet."""
    match target.kind:
        case TargetKind.MODULE:
            return _load_module(target)
        case TargetKind.FIXTURE:
            return _load_fixture(target)
        case TargetKind.CALLABLES:
            return _load_callables(target)
        case TargetKind.ZOO:
            return load_zoo(target)
        case TargetKind.OBJECTS:
            return _load_objects(target)
        case TargetKind.SCRIPT | TargetKind.SEEN:
            raise TargetError(f"{target.source} is a script: its run gives the targets")


def _load_objects(target: Target) -> Loaded:
    try:
        # Our own parent wrote the file.
        parts = torch.load(target.source, map_location="cpu", weights_only=False)
    except ImportError as exc:
        raise TargetError(f"a class of the model is not to be found in the trial's process: {exc}") from exc
    other = parts["other_args"]
    loaded = of_values(target, parts["model"], parts["args"], parts["kwargs"], parts["dynamic_shapes"])
    return loaded if other is None else replace(loaded, other_args=lambda: as_args("other_args", copied(other)))


def _load_module(target: Target) -> Loaded:
    module = import_source(target.source)
    for name in ("model", "example_args"):
        if not hasattr(module, name):
            raise TargetError(f"{target.source} has no module-level `{name}`")
    return Loaded(
        target,
        model=_maker("model", module.model),
        args=lambda: as_args("example_args", copied(module.example_args)),
        kwargs=lambda: as_kwargs("example_kwargs", copied(getattr(module, "example_kwargs", None))),
        dynamic_shapes=lambda: getattr(module, "dynamic_shapes", None),
    )


def _load_callables(target: Target) -> Loaded:
    def maker(part: str, source: str | None) -> Make:
        return _maker(part, resolve(part, source)) if source else lambda: None

    if target.args is None:
        raise TargetError(f"target {target.name}: --args is missing")
    args, kwargs = maker("args", target.args), maker("kwargs", target.kwargs)
    other = maker("other-args", target.other_args)
    return Loaded(
        target,
        model=maker("model", target.source),
        args=lambda: as_args("args", args()),
        kwargs=lambda: as_kwargs("kwargs", kwargs()),
        dynamic_shapes=maker("dynamic-shapes", target.dynamic_shapes),
        other_args=(lambda: as_args("other-args", other())) if target.other_args else None,
    )


def _load_fixture(target: Target) -> Loaded:
    cls = resolve("fixture", target.source)
    if not hasattr(cls, "inputs"):
        raise TargetError(f"{target.source} has no static method inputs()")
    nothing: Make = lambda: None  # noqa: E731 - a name for the absent part
    # A class with its own export call shows what that call gets wrong, the training mode included.
    own_export = getattr(cls, "export", None)
    return Loaded(
        target,
        model=_seeded(cls if own_export else lambda: cls().eval()),
        args=lambda: as_args("inputs()", cls.inputs()),
        kwargs=lambda: as_kwargs("kwargs()", getattr(cls, "kwargs", nothing)()),
        dynamic_shapes=getattr(cls, "dynamic_shapes", nothing),
        other_args=(lambda: as_args("other_inputs()", cls.other_inputs())) if hasattr(cls, "other_inputs") else None,
        export=own_export,
        reference=_seeded(cls.reference) if hasattr(cls, "reference") else None,
        observe=getattr(cls, "observe", None),
    )


def _seeded(make: Make) -> Make:
    """The same weights in every process, however much randomness was used before."""

    def made() -> Any:
        seed(0)
        return make()

    return made


def _maker(part: str, found: Any) -> Make:
    # Inputs are seeded where they are made, so that other inputs are other values.
    if part == "model":
        return _model_maker(found)
    return found if callable(found) else lambda: copied(found)


def _model_maker(found: Any) -> Make:
    # A method of a module, or what needs arguments, is what somebody wants to export, not a maker of models.
    is_method = isinstance(getattr(found, "__self__", None), torch.nn.Module)
    if isinstance(found, torch.nn.Module) or is_method or is_called_with_arguments(found):
        return lambda: wrapped(copied(found))

    def make() -> Any:
        seed(0)
        made = found() if callable(found) else copied(found)
        if not callable(made):
            raise TargetError(f"model: {found!r} gives {type(made).__name__}, not an nn.Module")
        return wrapped(made)

    return make
