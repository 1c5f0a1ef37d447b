"""Find the state that changes outputs: restore each attribute after the first call, and compare the second call."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.execution.state import state_slots
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.forks import in_fork

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from exportlint.trial.child.loading.loaded import Loaded


# Each costs two calls of the model.
_MOST = 8


def state_that_changes_outputs(loaded: Loaded, names: Iterable[str], folder: Path) -> set[str]:
    """The names, of those given, whose change in the first call changes what the second call returns.

    Every try runs in a fork of its own, in `folder`.
    """
    some = list(names)[:_MOST]
    usual = in_fork(lambda: _second_call(loaded, None), folder) if some else None
    if usual is None or not usual.ok:
        return set()
    runs = {name: in_fork(partial(_second_call, loaded, name), folder) for name in some}
    return {name for name, run in runs.items() if run.ok and _differ(usual.value, run.value)}


def _differ(usual: list[Leaves], other: list[Leaves]) -> bool:
    return any(compare(a, b, exact=True) for a, b in zip(usual, other, strict=True))


def _second_call(loaded: Loaded, restored: str | None) -> list[Leaves]:
    """What the sample gives in a second call, and what other values give, where the model takes them."""
    return [_after_first(loaded, restored, input_set) for input_set in (0, 1)]


def _after_first(loaded: Loaded, restored: str | None, input_set: int) -> Leaves:
    model = loaded.eager()
    slots = state_slots(model, restored) if restored else []
    before = [(holder, key, key in holder, copied(holder.get(key))) for holder, key in slots]
    _call(loaded, model, 0)
    for holder, key, there, value in before:
        holder.pop(key, None)
        if there:
            holder[key] = value
    try:
        return _call(loaded, model, input_set)
    except Exception as exc:
        if not input_set:
            raise
        return [("raises", type(exc).__name__)]


def _call(loaded: Loaded, model: Any, input_set: int) -> Leaves:
    args, kwargs = inputs_of(loaded, input_set)
    seed(0)
    return snapshot(model(*args, **kwargs))
