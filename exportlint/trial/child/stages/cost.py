"""cost: how long a call of the compiled model takes beside one of eager, and how long compiling took."""

from __future__ import annotations

import contextlib
import os
import shutil
import statistics
import time
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.compilation.compile_record import own_options
from exportlint.trial.child.compilation.module_times import module_times
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import dynamo
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, REFUSED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.trial.child.execution.inputs.input_sets import Inputs

_CALLS, _SECONDS = 30, 6.0  # of each, by turns, until one of them is reached
_LEAST = 5
_COMPILES = 0.1  # seconds, below which nothing was compiled


def run(request: StageRequest) -> StageAnswer:
    """Eager and compiled by turns, warm, on this machine's processor. Option "backend": of torch.compile.

    `data["cost"]`: "backend", "eager_ms" and "compiled_ms" (median, and the quartiles as "spread"), "ratio" (compiled
    by eager), "compile_s" (the first call), "calls", and "modules": how long each call of a module takes in eager, see
    `module_times`.
    """
    backend = _backend(request)
    if backend == "inductor":
        dynamo.find_vector_instructions()  # which is no part of the time that compiling this model takes
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(request.folder)  # what an earlier run compiled would cost nothing
    dynamo.reset()
    eager = request.loaded.model()
    compiled = torch.compile(request.loaded.model(), backend=backend, **own_options(request.loaded.call_options))
    try:
        with torch.no_grad():
            began = time.perf_counter()
            first = _call(request, compiled)
            compile_seconds = time.perf_counter() - began
            other = compare(snapshot(_call(request, request.loaded.model())), snapshot(first))
            times = _by_turns(request, eager, compiled)
    except Exception as exc:  # noqa: BLE001 - a compiler may raise anything
        seen = of_exception(exc)
        request.emit(seen.with_details(summary=f"the backend {backend} raises: {seen.brief}"))
        return StageAnswer(REFUSED, short(f"{backend}: {seen.brief}"))
    ours, theirs = map(_quartiles, times)
    cost = {
        "backend": backend,
        "eager_ms": ours[1],
        "compiled_ms": theirs[1],
        "spread": [[ours[0], ours[2]], [theirs[0], theirs[2]]],
        "ratio": round(theirs[1] / ours[1], 2) if ours[1] else None,
        "compile_s": round(compile_seconds, 2),
        "calls": len(times[0]),
        "modules": _module_times(request, eager),
    }
    if other is not None and _repeats_itself(request):
        details = {"check": "output", "input_set": 0, "call": 0, "beside": "compiled", "backend": backend}
        request.emit(Observation("difference", details={**details, **other.fields()}))
        return StageAnswer(DIFFERS, None, {"cost": cost})
    return StageAnswer(PASSED, _in_words(cost), {"cost": cost})


def _backend(request: StageRequest) -> str:
    """What was asked for, what the script's own call takes, or what torch.compile takes by default, where that can
    compile here."""
    asked = request.options.get("backend") or request.loaded.call_options.get("backend")
    if isinstance(asked, str):
        return asked
    compiler = os.environ.get("CXX") or shutil.which("g++") or shutil.which("clang++")
    return "inductor" if compiler else "aot_eager"


def _call(request: StageRequest, model: Callable[..., Any]) -> Any:
    args, kwargs = inputs_of(request.loaded, 0)
    seed(0)
    return model(*args, **kwargs)


def _repeats_itself(request: StageRequest) -> bool:
    """Does eager give the same twice, and draw nothing? A compiler draws other numbers from the same seed."""
    seed(0)
    untouched = torch.random.get_rng_state()
    runs = [snapshot(_call(request, request.loaded.model())) for _ in range(2)]
    draws = not torch.equal(untouched, torch.random.get_rng_state())
    return not draws and compare(*runs, exact=True) is None


def _by_turns(request: StageRequest, eager: Any, compiled: Any) -> tuple[list[float], list[float]]:
    """Milliseconds of each call."""
    inputs = inputs_of(request.loaded, 0)
    spent: tuple[list[float], list[float]] = ([], [])
    _warm_up(eager, compiled, inputs)
    began = time.perf_counter()
    while len(spent[0]) < _CALLS and (len(spent[0]) < _LEAST or time.perf_counter() - began < _SECONDS):
        for model, row in zip((eager, compiled), spent, strict=True):
            start = time.perf_counter()
            model(*inputs[0], **inputs[1])
            row.append((time.perf_counter() - start) * 1000)
    return spent


def _module_times(request: StageRequest, eager: Any) -> list[dict[str, Any]]:
    """None where a module cannot be watched: they are for people, and nothing is judged by them."""
    args, kwargs = inputs_of(request.loaded, 0)
    with contextlib.suppress(Exception):
        return module_times(eager, lambda: eager(*args, **kwargs))
    return []


def _warm_up(eager: Any, compiled: Any, inputs: Inputs) -> None:
    """Until a call of the compiled model compiles nothing, or Dynamo has given up what it compiles again each time."""
    eager(*inputs[0], **inputs[1])
    began = time.perf_counter()
    eager(*inputs[0], **inputs[1])
    usual = time.perf_counter() - began
    for _ in range(dynamo.recompile_limit() + 2):
        began = time.perf_counter()
        compiled(*inputs[0], **inputs[1])
        if time.perf_counter() - began < max(_COMPILES, 10 * usual):
            return


def _quartiles(times: list[float]) -> tuple[float, float, float]:
    low, middle, high = statistics.quantiles(times, n=4)
    return round(low, 4), round(middle, 4), round(high, 4)


def _in_words(cost: dict[str, Any]) -> str:
    return (
        f"{cost['ratio']:g} x eager's time a call ({cost['backend']}, {cost['compiled_ms']:.3g} ms beside "
        f"{cost['eager_ms']:.3g} ms, measured here, on this CPU); compiling took {cost['compile_s']:.3g} s"
    )
