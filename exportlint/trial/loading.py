"""A target becomes a model and inputs. Runs in the child; everything user code can do wrong becomes a TargetError.

Values are made anew for every use: a forward that writes to its inputs or to itself must not reach the next run.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.target import Target, TargetError, TargetKind, is_file_source, split_source
from exportlint.trial.values import seed

if TYPE_CHECKING:
    from types import ModuleType

Make = Callable[[], Any]


@dataclass(frozen=True)
class Loaded:
    """Makers of fresh values. `export(strict)`, `reference` and `observe` only where a fixture class defines them.

    `code`: an import, and expressions of the model, args and kwargs, where a zoo says what it made.
    """

    target: Target
    model: Make
    args: Callable[[], tuple[Any, ...]]
    kwargs: Callable[[], dict[str, Any]]
    dynamic_shapes: Make
    other_args: Callable[[], tuple[Any, ...]] | None = None
    export: Callable[[bool], Any] | None = None
    reference: Make | None = None
    observe: Make | None = None
    code: tuple[str, str, str, str] | None = None

    def eager(self) -> Any:
        """What the exported program is compared with."""
        return self.reference() if self.reference else self.model()


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
            from exportlint.trial.zoos import load_zoo  # noqa: PLC0415 - it needs what this file gives

            return load_zoo(target)
        case TargetKind.OBJECTS:
            return _load_objects(target)
        case TargetKind.SCRIPT | TargetKind.SEEN:
            raise TargetError(f"{target.source} is a script: its run gives the targets")


def _load_objects(target: Target) -> Loaded:
    import torch  # noqa: PLC0415 - the server has loaded it before any target

    try:
        # Our own parent wrote the file.
        parts = torch.load(target.source, map_location="cpu", weights_only=False)
    except ImportError as exc:
        raise TargetError(f"a class of the model is not to be found in the trial's process: {exc}") from exc
    other = parts["other_args"]
    loaded = of_values(target, parts["model"], parts["args"], parts["kwargs"], parts["dynamic_shapes"])
    return loaded if other is None else replace(loaded, other_args=lambda: as_args("other_args", copied(other)))


def of_values(target: Target, model: Any, args: Any, kwargs: dict[str, Any], shapes: Any) -> Loaded:
    """A target whose parts live in this process already."""
    from exportlint.trial.wrapping import wrapped  # noqa: PLC0415 - needs torch

    given = _detached((args, kwargs))
    return Loaded(
        target,
        model=lambda: wrapped(copied(model)),
        args=lambda: as_args("args", copied(given)[0]),
        kwargs=lambda: copied(given)[1],
        dynamic_shapes=lambda: shapes,
    )


def _detached(value: Any) -> Any:
    """Inputs that another layer computed carry that layer's graph, and such a tensor cannot be copied."""
    import torch  # noqa: PLC0415 - the server has loaded it before any target
    from torch.utils import _pytree as pytree  # noqa: PLC0415 - what torch.export itself flattens with

    def alone(leaf: Any) -> Any:
        computed = isinstance(leaf, torch.Tensor) and leaf.requires_grad and not leaf.is_leaf
        return leaf.detach().requires_grad_() if computed else leaf

    return pytree.tree_map(alone, value)


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
    # Inputs are seeded where a draw is made, so that other inputs are other values.
    if part == "model":
        return _model_maker(found)
    return found if callable(found) else lambda: copied(found)


def _model_maker(found: Any) -> Make:
    import torch  # noqa: PLC0415 - the server has loaded it before any target

    from exportlint.trial.wrapping import is_called_with_arguments, wrapped  # noqa: PLC0415 - needs torch

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


def copied(value: Any) -> Any:
    """A deep copy that keeps aliases between tensors; the value itself where torch refuses to copy it."""
    try:
        return copy.deepcopy(value)
    except Exception:  # noqa: BLE001 - any class of the target may refuse, in any way
        return value


def as_args(part: str, value: Any) -> tuple[Any, ...]:
    """A tuple as it is, a lone tensor wrapped; anything else is a mistake worth a sentence."""
    import torch  # noqa: PLC0415 - the server has loaded it before any target

    if isinstance(value, tuple):
        return value
    if isinstance(value, torch.Tensor):
        return (value,)
    raise TargetError(f"{part} must give a tuple of arguments, it gave {type(value).__name__}")


def as_kwargs(part: str, value: Any) -> dict[str, Any]:
    """A dict, or None for none."""
    if value is None or isinstance(value, dict):
        return value or {}
    raise TargetError(f"{part} must give a dict, it gave {type(value).__name__}")


def resolve(part: str, source: str) -> Any:
    """The object that FILE_OR_MODULE:NAME stands for."""
    home, attribute = split_source(part, source)
    found: Any = import_source(home)
    for name in attribute.split("."):
        if not hasattr(found, name):
            raise TargetError(f"{part} {source!r}: {home} has no {name!r}")
        found = getattr(found, name)
    return found


def import_source(home: str) -> ModuleType:
    """A file under a name of its own (in sys.modules: dataclasses, pickle and Dynamo look there), or a module."""
    return import_file(Path(home).resolve()) if is_file_source(home) else importlib.import_module(home)


_RELATIVE_IMPORT = re.compile(r"^\s*from\s+\.", re.MULTILINE)


def import_file(path: Path) -> ModuleType:
    if (path.parent / "__init__.py").exists() and _RELATIVE_IMPORT.search(path.read_text("utf-8")):
        return _import_inside_package(path)
    name = _module_name(path)
    if name in sys.modules:
        return sys.modules[name]
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise TargetError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    seed(0)
    spec.loader.exec_module(module)
    return module


def _module_name(path: Path) -> str:
    """The same for the same file in every run, because torch's messages quote it."""
    base = "exportlint_target_" + re.sub(r"\W", "_", path.stem)
    taken = (base, *(f"{base}_{number}" for number in range(2, 100)))
    return next(name for name in taken if getattr(sys.modules.get(name), "__file__", str(path)) == str(path))


def _import_inside_package(path: Path) -> ModuleType:
    """A file with relative imports only works under its package's own name."""
    root = path.parent
    while (root.parent / "__init__.py").exists():
        root = root.parent
    sys.path.insert(0, str(root.parent))
    return importlib.import_module(".".join(path.relative_to(root.parent).with_suffix("").parts))
