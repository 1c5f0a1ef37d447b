"""Calls of a model, and everything about a call that eager and an exported program must agree on. Runs in the child."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.effects import listening
from exportlint.trial.graphs import source_of
from exportlint.trial.isolate import leave_if_stray
from exportlint.trial.loading import Loaded, copied
from exportlint.trial.observation import Frame, Observation, is_user_path, of_exception, placed
from exportlint.trial.values import Leaves, compare, redraw, seed, snapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

# A draw is a set of inputs: 0 is the sample, 1 the target's other inputs or values drawn anew. Each is called twice in
# a row on the same program, so that state shows.
PLAN = (0, 0, 1, 1)

# The key in `Record.changed` for writes into the arguments.
INPUTS = "inputs"


@dataclass(frozen=True)
class Row:
    """One call. `raised` instead of an output when it raised; `meant`: the target's own inputs, not drawn anew.

    `outside` lists files opened for writing, processes and the like; `places` the first line to print, log or do so.
    """

    draw: int
    output: Leaves
    inputs: Leaves
    stdout: str
    log: tuple[str, ...]
    outside: tuple[str, ...]
    places: Mapping[str, Frame] = field(default_factory=dict)
    raised: Observation | None = None
    meant: bool = True


@dataclass(frozen=True)
class Record:
    """A series of calls on one program, and what they left behind. `changed`: plain attributes and globals, with the
    line that changed them where one was looked for; `mattering`: those that reach the outputs, None if nobody asked."""

    rows: tuple[Row, ...]
    buffers: Leaves
    changed: Mapping[str, Frame | None]
    observed: tuple[str, str] | None
    mattering: frozenset[str] | None = None


def record(loaded: Loaded, program: Callable[..., Any], plan: Sequence[int] = PLAN) -> Record:
    """Call `program` by the plan; a draw ends at its first exception."""
    observed, kept = _observed(loaded), _kept(program)
    rows: list[Row] = []
    for index, draw in enumerate(plan):
        if not any(row.raised and row.draw == draw for row in rows):
            rows.append(_call(loaded, program, draw, 100 + index))
    changed = {name: None for name, now in _kept(program).items() if compare(kept.get(name, []), now, exact=True)}
    buffers = snapshot(dict(program.named_buffers())) if hasattr(program, "named_buffers") else []
    after = _observed(loaded)
    return Record(tuple(rows), buffers, changed, (observed, after) if observed and after else None)


def _call(loaded: Loaded, program: Callable[..., Any], draw: int, number: int) -> Row:
    args, kwargs = inputs_of(loaded, draw)
    # Another seed for every call: a number that was baked while tracing then differs from at least one of them.
    seed(number)
    raised = None
    output: Leaves = []
    with listening() as heard:
        try:
            output = snapshot(program(*args, **kwargs))
        except BaseException as exc:  # noqa: BLE001 - SystemExit is an answer too
            raised = of_exception(exc)
            if raised.user_path is None and (frames := source_of(program, exc)):
                raised = placed(
                    "exception", raised.text, frames, error_class=raised.error_class, details=raised.details
                )
    leave_if_stray()
    said = heard.printed.getvalue(), tuple(heard.log), tuple(heard.outside)
    inputs = snapshot((args, kwargs))
    return Row(draw, output, inputs, *said, heard.places, raised, _meant(loaded, draw))


def _meant(loaded: Loaded, draw: int) -> bool:
    return not draw or loaded.other_args is not None


def inputs_of(loaded: Loaded, draw: int) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Fresh arguments of a draw, equal in every process."""
    seed(7 + draw)
    if draw and loaded.other_args:
        return loaded.other_args(), loaded.kwargs()
    args, kwargs = loaded.args(), loaded.kwargs()
    if not draw:
        return args, kwargs
    drawn: tuple[tuple[Any, ...], dict[str, Any]] = redraw((args, kwargs), draw)
    return copied(drawn)  # type: ignore[no-any-return]


def _observed(loaded: Loaded) -> str | None:
    return repr(loaded.observe()) if loaded.observe else None


def keepers(program: Any) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What outlives a call outside parameters and buffers, the state that export does not know: plain attributes of
    modules, and globals of the model's own files. Each with a function that gives its present value."""
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
    return [module for module, file in files if is_user_path(file) and "-packages" not in file]


def keeper(program: Any, name: str) -> Callable[[], Any]:
    """The function that gives the present value of what `keepers` would call `name`, though it may not exist yet."""
    homes = holder(program, name)
    if len(homes) == 1:
        return partial(homes[0][0].get, homes[0][1])
    return lambda: [home.get(key) for home, key in homes]


def holder(program: Any, name: str) -> list[tuple[dict[str, Any], str]]:
    """The dictionaries that hold what `keepers` would call `name`, each with the key there."""
    if name.startswith("global "):
        key = name.removeprefix("global ")
        return [(vars(module), key) for module in _own_modules() if key in vars(module)]
    path, _, key = name.rpartition(".")
    return [(vars(program.get_submodule(path)), key)]


def _kept(program: Any) -> dict[str, Leaves]:
    return {name: snapshot(give(), levels=3) for name, give in keepers(program)}
