"""Turn a target into makers of a model and inputs; whatever user code does wrong becomes a TargetError."""

from __future__ import annotations

import ast
import contextlib
import difflib
import importlib
import importlib.util
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.loading.as_first import AsFirst
from exportlint.trial.child.loading.loaded import Loaded, Make, as_args, as_kwargs, as_several, copied, of_values
from exportlint.trial.child.loading.module_wrapper import is_called_with_arguments, wrapped
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.frames import is_installed, is_user_path
from exportlint.trial.protocol.target import EXAMPLE_ARGS, Target, TargetError, TargetKind, is_file_source, split_source
from exportlint.trial.protocol.torch_messages import is_of_another_torch

if TYPE_CHECKING:
    from types import ModuleType


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
    return loaded if other is None else replace(loaded, other_args=lambda: as_several("other_args", copied(other)))


def _load_module(target: Target) -> Loaded:
    module, args = import_source(target.source), target.args or EXAMPLE_ARGS
    for name in ("model", args):
        if not hasattr(module, name):
            raise TargetError(f"{target.source} has no module-level `{name}`")
    return _with_arguments_of(module, target, module.model, args)


def _with_arguments_of(module: ModuleType, target: Target, model: Any, args: str = EXAMPLE_ARGS) -> Loaded:
    """The model with the arguments that stand in the module."""
    return Loaded(
        target,
        model=_maker("model", model),
        args=lambda: as_args(args, copied(getattr(module, args))),
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
        other_args=(lambda: as_several("other-args", other())) if target.other_args else None,
    )


def _load_fixture(target: Target) -> Loaded:
    cls = resolve("fixture", target.source)
    if not hasattr(cls, "inputs"):
        return _load_beside_arguments(target, cls)
    nothing: Make = lambda: None  # noqa: E731 - a name for the absent part
    # A class with its own export call shows what that call gets wrong, the training mode included.
    own_export = getattr(cls, "export", None)
    return Loaded(
        target,
        model=_seeded(cls if own_export else lambda: cls().eval()),
        args=lambda: as_args("inputs()", cls.inputs()),
        kwargs=lambda: as_kwargs("kwargs()", getattr(cls, "kwargs", nothing)()),
        dynamic_shapes=getattr(cls, "dynamic_shapes", nothing),
        other_args=(lambda: as_several("other_inputs()", cls.other_inputs())) if hasattr(cls, "other_inputs") else None,
        export=own_export,
        reference=_seeded(cls.reference) if hasattr(cls, "reference") else None,
        observe=getattr(cls, "observe", None),
    )


def _load_beside_arguments(target: Target, found: Any) -> Loaded:
    """A model, or a class of them, that stands in a file beside `example_args`."""
    home, name = split_source("target", target.source)
    module = import_source(home)
    if not hasattr(module, EXAMPLE_ARGS):
        raise TargetError(
            f"{target.source} has no static method inputs(), and {home} no `{EXAMPLE_ARGS}`: write one of them, or say "
            f"where the arguments are made, --model {home}:{name} --args {home}:NAME"
        )
    return _with_arguments_of(module, target, found)


def _seeded(make: Make) -> Make:
    """The same weights in every process, however much randomness was used before."""

    return lambda: _made_as_later(make)


def _made_as_later(make: Make) -> Any:
    """The model, seeded. What it imports while it is made may draw, or seed too, and does so once in a process: then it
    is made again, as every later one is."""
    before = set(sys.modules)
    seed(0)
    made = make()
    files = [getattr(sys.modules[name], "__file__", None) or "" for name in set(sys.modules) - before]
    if any(is_user_path(file) and not is_installed(file) for file in files):
        with contextlib.suppress(Exception):  # one that can be made once only is as it was made
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
        fresh = AsFirst(found)
        return lambda: wrapped(fresh())

    def make() -> Any:
        made = found() if callable(found) else copied(found)
        if not callable(made):
            raise TargetError(f"model: {found!r} gives {type(made).__name__}, not an nn.Module")
        return wrapped(made)

    return _seeded(make)


# Import the files and modules of a target, under names that stay the same.


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


# Build LIBRARY:MODEL with its inputs, by the module that an entry point names.


def load_zoo(target: Target) -> Loaded:
    """Builds the model, with the same weights in every run."""
    name, *more = target.source.partition(":")[2].split(",")
    options = dict(_option(target, text) for text in more)
    zoo = _imported(target)
    seed(0)
    try:
        model, args, kwargs, *code = zoo.build(name, options)
    except LookupError:
        raise TargetError(f"{target.source}: {_unknown(zoo, name)}") from None
    except RuntimeError as exc:
        raise TargetError(f"{target.source}: {exc}") from exc
    return replace(of_values(target, model, args, kwargs, None), code=_written(code, args, kwargs))


def _written(code: list[tuple[str, str]], args: Any, kwargs: Any) -> tuple[str, str, str, str] | None:
    """With the inputs, where they can be written too."""
    given, named = written(args), written(kwargs)
    return (*code[0], given, named) if code and given and named else None


def _option(target: Target, text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise TargetError(f"{target.source}: write options as NAME=VALUE, not {text!r}")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


def _imported(target: Target) -> ModuleType:
    library = target.source.partition(":")[0]
    try:
        return importlib.import_module(str(target.zoo))
    except ModuleNotFoundError as exc:
        missing = str(exc.name).partition(".")[0]
        raise TargetError(f"{target.source}: needs {missing}, which is not installed: pip install {missing}") from exc
    except Exception as exc:
        hint = _OF_ANOTHER_TORCH if is_of_another_torch(str(exc)) else ""
        raise TargetError(f"{target.source}: importing {library} raised {type(exc).__name__}: {exc}{hint}") from exc


_OF_ANOTHER_TORCH = (
    "; the installed torchvision was built for another torch: install both together, pip install torch torchvision"
)


def _unknown(zoo: ModuleType, name: str) -> str:
    near = difflib.get_close_matches(name, zoo.names(), 3, 0.5)
    return f"there is no model {name!r}" + (f"; the nearest are {', '.join(near)}" if near else "")


# Write example inputs as code that makes the like of them.


_MOST_WRITTEN = 64  # numbers that a person still reads


def written(value: Any) -> str | None:
    """An expression: tensors of the same shape, type and range. None where a value has no short one."""
    if isinstance(value, torch.Tensor):
        return _tensor(value)
    if type(value) is dict:
        return _joined("{", [f"{key!r}: " for key in value], list(value.values()), "}")
    if type(value) in (list, tuple):
        ends = "[]" if isinstance(value, list) else "()"
        return _joined(ends[0], [""] * len(value), list(value), f",{ends[1]}" if len(value) == 1 else ends[1])
    return repr(value) if isinstance(value, (bool, int, float, str, type(None))) else None


def _joined(start: str, before: list[str], values: list[Any], end: str) -> str | None:
    """Each value behind its key, if it has one; None where one has no code."""
    items = [written(value) for value in values]
    filled = ", ".join(f"{key}{item}" for key, item in zip(before, items, strict=True))
    return None if None in items else f"{start}{filled}{end}"


def _tensor(tensor: torch.Tensor) -> str | None:
    if type(tensor) is not torch.Tensor or tensor.layout is not torch.strided or tensor.is_complex():
        return None
    shape = tuple(tensor.shape)
    kind = "" if tensor.dtype is torch.float32 else f", dtype={tensor.dtype}"
    if tensor.numel() and bool((tensor == tensor.reshape(-1)[0]).all()):
        return f"torch.full({shape}, {tensor.reshape(-1)[0].item()}{kind})"
    if tensor.is_floating_point():
        unit = bool((tensor >= 0).all() and (tensor < 1).all())
        return f"torch.{'rand' if unit else 'randn'}({shape}{kind})"
    if tensor.numel() <= _MOST_WRITTEN:
        return f"torch.tensor({tensor.tolist()}{kind})"
    return f"torch.randint({int(tensor.min())}, {int(tensor.max()) + 1}, {shape}{kind})"
