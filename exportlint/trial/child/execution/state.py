"""Snapshot state that export does not know: plain attributes of modules, and Python state outside of the model."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.execution.outside_state import (
    GLOBAL,
    OF_CLASS,
    ClassAttributes,
    attributes_of_class,
    outside_readers,
    own_modules,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


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
