"""Build LIBRARY:MODEL with its inputs, by the module that an entry point names."""

from __future__ import annotations

import ast
import difflib
import importlib
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.loading.input_code import written
from exportlint.trial.child.loading.loaded import Loaded, of_values
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.target import Target, TargetError

if TYPE_CHECKING:
    from types import ModuleType


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
        hint = _OF_ANOTHER_TORCH if "operator torchvision::" in str(exc) else ""
        raise TargetError(f"{target.source}: importing {library} raised {type(exc).__name__}: {exc}{hint}") from exc


_OF_ANOTHER_TORCH = (
    "; the installed torchvision was built for another torch: install both together, pip install torch torchvision"
)


def _unknown(zoo: ModuleType, name: str) -> str:
    near = difflib.get_close_matches(name, zoo.names(), 3, 0.5)
    return f"there is no model {name!r}" + (f"; the nearest are {', '.join(near)}" if near else "")
