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
_MISSING = object()


def mattering(loaded: Loaded, names: Iterable[str], folder: Path) -> set[str]:
    """The names, of those that `keepers` gives, whose change in the first call changes what the second one returns."""
    some = list(names)[:_MOST]
    usual = in_fork(lambda: _second_call(loaded, None), folder) if some else None
    if usual is None or not usual.ok:
        return set()
    runs = {name: in_fork(partial(_second_call, loaded, name), folder) for name in some}
    return {name for name, run in runs.items() if run.ok and compare(usual.value, run.value, exact=True)}


def _second_call(loaded: Loaded, restored: str | None) -> Leaves:
    model = loaded.eager()
    homes = holder(model, restored) if restored else []
    before = [(home, key, copied(home.get(key, _MISSING))) for home, key in homes]
    _call(loaded, model)
    for home, key, value in before:
        home.pop(key, None)
        if value is not _MISSING:
            home[key] = value
    return snapshot(_call(loaded, model))


def _call(loaded: Loaded, model: Any) -> Any:
    args, kwargs = inputs_of(loaded, 0)
    seed(0)
    return model(*args, **kwargs)
