"""Snapshot state that export does not know: plain attributes of modules, and globals of the model's own files."""

from __future__ import annotations

import sys
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.pytree_leaves import Leaves, snapshot
from exportlint.trial.protocol.frames import is_installed, is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def state_readers(program: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of each plain attribute and global, with a function that gives its present value."""
    if not isinstance(program, torch.nn.Module) or isinstance(program, torch.fx.GraphModule):
        return
    own = vars(torch.nn.Module())
    for name, module in program.named_modules():
        for key in vars(module):
            if key not in own:
                yield f"{name}.{key}".lstrip("."), partial(vars(module).get, key)
    for module in _own_modules():
        for key, value in vars(module).items():
            if not key.startswith("__") and not isinstance(value, _FIXED) and not callable(value):
                yield f"global {key}", partial(vars(module).get, key)


_FIXED = (ModuleType, FunctionType, type, torch.nn.Module)


def _own_modules() -> list[Any]:
    """Modules of the model's own files; those of installed libraries hold caches by the thousand."""
    files = [(module, getattr(module, "__file__", None) or "") for module in list(sys.modules.values())]
    return [module for module, file in files if is_user_path(file) and not is_installed(file)]


def state_reader(program: Any, name: str) -> Callable[[], Any]:
    """The function that gives the present value of the named attribute or global, which may not exist yet."""
    slots = state_slots(program, name)
    if len(slots) == 1:
        return partial(slots[0][0].get, slots[0][1])
    return lambda: [holder.get(key) for holder, key in slots]


def state_slots(program: Any, name: str) -> list[tuple[dict[str, Any], str]]:
    """The dictionaries that hold the named attribute or global, each with the key there."""
    if name.startswith("global "):
        key = name.removeprefix("global ")
        return [(vars(module), key) for module in _own_modules() if key in vars(module)]
    path, _, key = name.rpartition(".")
    return [(vars(program.get_submodule(path)), key)]


def state_now(program: Any) -> dict[str, Leaves]:
    """Name -> the values as they are now."""
    return {name: snapshot(read(), levels=3) for name, read in state_readers(program)}
