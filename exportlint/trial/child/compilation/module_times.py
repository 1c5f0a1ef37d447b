"""How long each call of a module takes within a call of the model in eager."""

from __future__ import annotations

import inspect
import statistics
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.protocol.frames import is_user_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_RUNS, _SECONDS = 5, 3.0  # until one of them is reached
_MOST = 1000  # of a page; a model of more calls is shown less deeply


@dataclass(slots=True)
class _ModuleCall:
    """A call that runs, or has ended: the module, how many calls of modules are around it, how many ms it took."""

    name: str
    module: torch.nn.Module
    depth: int
    began: float
    ms: float = 0.0


def module_times(model: Any, call: Callable[[], Any]) -> list[dict[str, Any]]:
    """One row for each call of a module that `call()` makes, in their order, the model's own first; none for what is no
    module. The median of several runs where each makes the same calls, else of the last one.

    "name", "class", "depth" (how many calls are around it), "ms" (with what it calls), and "path", "line", "end_line"
    of its `forward`: None where that is no code of the user's.
    """
    if not isinstance(model, torch.nn.Module):
        return []
    runs: list[list[_ModuleCall]] = []
    began = time.perf_counter()
    with torch.no_grad():
        while not runs or (len(runs) < _RUNS and time.perf_counter() - began < _SECONDS):
            runs.append(_one_run(model, call))
    last = runs[-1]
    alike = [run for run in runs if [one.name for one in run] == [one.name for one in last]]
    times = [statistics.median(run[index].ms for run in alike) for index in range(len(last))]
    shown = _deepest_shown(last)
    return [_row(one, ms) for one, ms in zip(last, times, strict=True) if one.depth <= shown]


def _one_run(model: torch.nn.Module, call: Callable[[], Any]) -> list[_ModuleCall]:
    calls: list[_ModuleCall] = []
    running: list[_ModuleCall] = []
    names = {module: name for name, module in model.named_modules()}

    def begin(module: torch.nn.Module, _inputs: Any) -> None:
        calls.append(_ModuleCall(names[module], module, len(running), time.perf_counter()))
        running.append(calls[-1])

    def end(_module: torch.nn.Module, _inputs: Any, _output: Any) -> None:
        one = running.pop()
        one.ms = (time.perf_counter() - one.began) * 1000

    with ExitStack() as hooks:
        for module in names:
            hooks.callback(module.register_forward_pre_hook(begin).remove)
            hooks.callback(module.register_forward_hook(end).remove)
        call()
    return calls


def _deepest_shown(calls: Sequence[_ModuleCall]) -> int:
    depth = max((one.depth for one in calls), default=0)
    while depth and sum(one.depth <= depth for one in calls) > _MOST:
        depth -= 1
    return depth


def _row(one: _ModuleCall, ms: float) -> dict[str, Any]:
    path, line, end_line = _own_lines(type(one.module).forward)
    timed = {"name": one.name, "class": type(one.module).__qualname__, "depth": one.depth, "ms": round(ms, 4)}
    return {**timed, "path": path, "line": line, "end_line": end_line}


def _own_lines(forward: Any) -> tuple[str, int, int] | tuple[None, None, None]:
    code = getattr(forward, "__code__", None)
    if code is None or not is_user_path(code.co_filename):
        return None, None, None
    with suppress(OSError):  # the source of what was made by exec is nowhere
        text, line = inspect.getsourcelines(code)
        return code.co_filename, line, line + len(text) - 1
    return None, None, None
