"""Which of what a model keeps between calls reaches its outputs: each thing is put back, and the model called again.
Runs in forks of its own."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from exportlint.trial.calls import holder, inputs_of
from exportlint.trial.isolate import in_fork
from exportlint.trial.loading import copied
from exportlint.trial.values import Leaves, compare, seed, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from exportlint.trial.loading import Loaded

# Each costs two calls of the model.
_MOST = 8


def mattering(loaded: Loaded, names: Iterable[str], folder: Path) -> set[str]:
    """The names, of those that `keepers` gives, whose change in the first call changes what the second one returns."""
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
    return [_after_first(loaded, restored, draw) for draw in (0, 1)]


def _after_first(loaded: Loaded, restored: str | None, draw: int) -> Leaves:
    model = loaded.eager()
    homes = holder(model, restored) if restored else []
    before = [(home, key, key in home, copied(home.get(key))) for home, key in homes]
    _call(loaded, model, 0)
    for home, key, there, value in before:
        home.pop(key, None)
        if there:
            home[key] = value
    try:
        return _call(loaded, model, draw)
    except Exception as exc:
        if not draw:
            raise
        return [("raises", type(exc).__name__)]


def _call(loaded: Loaded, model: Any, draw: int) -> Leaves:
    args, kwargs = inputs_of(loaded, draw)
    seed(0)
    return snapshot(model(*args, **kwargs))
