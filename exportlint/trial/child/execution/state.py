"""Snapshot state that export does not know: plain attributes of modules, and Python state outside of the model."""

from __future__ import annotations

import operator
import sys
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.loading.as_first import is_gone
from exportlint.trial.protocol.frames import is_installed, is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Reader = tuple[str, Callable[[], Any]]


def state_readers(program: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """The name of each plain attribute and place outside, with a function that gives its present value."""
    yield from outside_readers()
    if not isinstance(program, torch.nn.Module) or isinstance(program, torch.fx.GraphModule):
        return
    own = vars(torch.nn.Module())
    for name, module in program.named_modules():
        for key in vars(module):
            if key not in own:
                yield f"{name}.{key}".lstrip("."), partial(vars(module).get, key)


def state_reader(program: Any, name: str) -> Callable[[], Any]:
    """The function that gives the present value of what is named, which may not exist yet."""
    slots = state_slots(program, name)
    if not slots:
        known = dict(state_readers(program))
        return known.get(name, lambda: None)
    if len(slots) == 1:
        return partial(slots[0][0].get, slots[0][1])
    return lambda: [holder.get(key) for holder, key in slots]


def state_slots(program: Any, name: str) -> Sequence[tuple[dict[str, Any] | ClassAttributes, str]]:
    """The dictionaries that hold the named attribute or global, each with the key there; none for other places."""
    if name.startswith(GLOBAL):
        key = name.removeprefix(GLOBAL)
        return [(vars(module), key) for module in own_modules() if key in vars(module)]
    if name.startswith(OF_CLASS):
        return attributes_of_class(name)
    if " " in name:
        return []
    path, _, key = name.rpartition(".")
    return [(vars(program.get_submodule(path)), key)]


def state_now(program: Any) -> dict[str, Leaves]:
    """Name -> the values as they are now."""
    return {name: snapshot(read(), levels=3) for name, read in state_readers(program)}


# Read Python state outside of the model: globals and class attributes of its own files, defaults and closures.


GLOBAL, OF_CLASS = "global ", "class "
_FIXED = (ModuleType, FunctionType, type, torch.nn.Module)
_CHANGEABLE = (list, dict, set)


def outside_readers() -> Iterator[Reader]:
    """The name of each place, with a function that gives its present value."""
    for module in own_modules():
        for key, value in list(vars(module).items()):
            if key.startswith("__") or is_gone(value):
                continue
            if not isinstance(value, _FIXED) and not callable(value):
                yield f"{GLOBAL}{key}", partial(vars(module).get, key)
            elif isinstance(value, (type, FunctionType)) and value.__module__ == module.__name__:
                yield from _of_class(value) if isinstance(value, type) else _of_function(value)


def own_modules() -> list[Any]:
    """Modules of the model's own files; those of installed libraries hold caches by the thousand. What a module has is
    read, and not asked for: one that loads its parts when they are asked for would load them."""
    loaded = list(sys.modules.values())
    # They are asked for at every call of a model, and there are thousands of modules, nearly always the same ones.
    if len(loaded) != len(_looked_at) or not all(map(operator.is_, loaded, _looked_at)):
        files = [(one, str(vars(one).get("__file__") or "")) for one in loaded if isinstance(one, ModuleType)]
        _looked_at[:] = loaded
        _own[:] = [module for module, file in files if is_user_path(file) and not is_installed(file)]
    return list(_own)


_looked_at: list[Any] = []
_own: list[Any] = []


def _of_class(cls: type) -> Iterator[Reader]:
    for key, value in list(vars(cls).items()):
        if is_gone(value):
            continue
        if isinstance(value, FunctionType):
            yield from _of_function(value)
        elif not key.startswith("__") and not callable(value) and not hasattr(value, "__get__"):
            yield f"{OF_CLASS}{cls.__name__}.{key}", partial(ClassAttributes(cls).get, key)


class ClassAttributes:
    """The attributes of a class, which Python does not let change as a dictionary."""

    def __init__(self, cls: type) -> None:
        self._cls = cls

    def __contains__(self, key: str) -> bool:
        return key in vars(self._cls)

    def __setitem__(self, key: str, value: Any) -> None:
        setattr(self._cls, key, value)

    def get(self, key: str) -> Any:
        return vars(self._cls).get(key)

    def pop(self, key: str, _default: Any = None) -> None:
        if key in self:
            delattr(self._cls, key)


def attributes_of_class(name: str) -> list[tuple[ClassAttributes, str]]:
    """The classes of the model's own files that the name of a reader means, each with the key there."""
    owner, _, key = name.removeprefix(OF_CLASS).rpartition(".")
    classes = (vars(module).get(owner) for module in own_modules())
    return [(ClassAttributes(cls), key) for cls in classes if isinstance(cls, type) and key in vars(cls)]


def _of_function(function: FunctionType) -> Iterator[Reader]:
    """Its changeable defaults, what it closes over, and the attributes that it was given."""
    given = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    if any(isinstance(value, _CHANGEABLE) for value in given):
        yield f"defaults of {function.__qualname__}", lambda: given
    if function.__dict__:
        yield f"attributes of {function.__qualname__}", lambda: dict(function.__dict__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        yield f"closure {name} of {function.__qualname__}", partial(_held, cell)


def _held(cell: Any) -> Any:
    """What a closure holds, where that is no function, class or module, which have readers of their own."""
    try:
        value = cell.cell_contents
    except ValueError:
        return None  # nothing yet
    return None if is_gone(value) or isinstance(value, _FIXED) or callable(value) else value
