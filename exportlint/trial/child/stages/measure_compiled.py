"""measure-compiled: what torch.compile does with one fixture class. `exportlint truth` makes records of the answers."""

from __future__ import annotations

import os
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.compilation.compile_record import CompileRecord
from exportlint.trial.child.compilation.input_changes import AGAIN, changes
from exportlint.trial.child.compilation.recurring import recurring
from exportlint.trial.child.execution.call_record import record_calls, without_left_out
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.compiled_differences import beside_compiled
from exportlint.trial.child.soundness.differences import STATE, is_unsteady
from exportlint.trial.child.torch_private.dynamo import as_if_exporting
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import PASSED, Compiled

if TYPE_CHECKING:
    from exportlint.trial.child.execution.call_record import RunRecord

_PLAN, _SAMPLE_PLAN = (0, 0, 1, 1), (0, 0)
_ENOUGH, _MOST_COMPARED = 3, 6  # comparisons that show it, of how many
_SECONDS = 20.0  # for looking at one change of the inputs


def run(request: StageRequest) -> StageAnswer:
    """An answer has the "outcome"; "breaks", each an observation; "recompiles", each an observation; or "seen", the
    observation of what differs or raises. "error" where nothing is known: why."""
    if request.loaded.export or request.loaded.reference:  # what is exported is not the class's own call
        return _report(request, {"error": "the class brings its own export call"})
    plan = _PLAN if request.loaded.other_args else _SAMPLE_PLAN
    os.chdir(tempfile.mkdtemp(dir=request.folder))
    first = _compared(request, plan)
    if isinstance(first, dict):
        return _report(request, first)
    found, breaks = _confirmed(request, plan, first), first.breaks
    if found:
        outcome = Compiled.RAISES if found[0].check == "raises" else Compiled.DIFFERS
        return _report(request, {"outcome": outcome.value, "seen": found[0].to_dict(), "breaks": breaks})
    if breaks:
        return _report(request, {"outcome": Compiled.BREAKS.value, "breaks": breaks})
    again_compiled = in_fork(lambda: _recompiles(request), request.folder, here=True)
    recompiles = again_compiled.value or []
    outcome = Compiled.RECOMPILES if recompiles else Compiled.ONE_GRAPH
    return _report(request, {"outcome": outcome.value, "recompiles": recompiles})


@dataclass(frozen=True)
class _Compared:
    """What differs from eager, and the breaks. `unsteady`: does eager itself give other values in another run?"""

    found: list[Observation]
    breaks: list[dict[str, Any]]
    unsteady: bool


def _confirmed(request: StageRequest, plan: tuple[int, ...], first: _Compared) -> list[Observation]:
    """What differs in several comparisons. An order of addresses may be the same in two runs of eager, and another one
    in the third; so it shows in some only that the compiled model always takes the same one."""
    runs = [first]
    seen = Counter(one.check for one in first.found)
    while any(run.found or run.unsteady for run in runs) and len(runs) < _MOST_COMPARED:
        if max(seen.values(), default=0) >= _ENOUGH:
            break
        compared = _compared(request, plan)
        if isinstance(compared, dict):
            return []
        runs.append(compared)
        seen.update({one.check for one in compared.found})
    steady = not any(run.unsteady for run in runs)
    found = {one.check: one for run in runs for one in run.found if seen[one.check] >= _ENOUGH}
    # Where what eager gives varies, two of its runs may be the same by chance.
    return [one for check, one in found.items() if steady or check not in ("output", STATE)]


def _compared(request: StageRequest, plan: tuple[int, ...]) -> _Compared | dict[str, Any]:
    """What differs, or an answer, where that cannot be compared."""
    eager, again, exporting = (
        in_fork(partial(_eager, request, plan, exporting=flag), request.folder, here=True)
        for flag in (False, False, True)
    )
    if not (eager.ok and again.ok):
        return {"error": "eager raises"}
    seen = in_fork(lambda: _compiled(request, plan), request.folder, here=True)
    if seen.raised:
        return {"outcome": Compiled.RAISES.value, "seen": seen.raised.to_dict()}
    if seen.ended:  # no outcome has a word for it
        return {"error": seen.ended}
    theirs, breaks = seen.value
    quiet = without_left_out(eager.value, exporting.value) if exporting.ok else eager.value
    found = list(beside_compiled(quiet, eager.value, again.value, theirs))
    return _Compared(found, breaks, is_unsteady(eager.value, again.value))


def _report(request: StageRequest, measured: dict[str, Any]) -> StageAnswer:
    request.send({"measured": measured})
    return StageAnswer(PASSED, measured.get("outcome") or measured["error"])


def _eager(request: StageRequest, plan: tuple[int, ...], *, exporting: bool) -> RunRecord:
    around = {"around": as_if_exporting} if exporting else {}
    return record_calls(request.loaded, request.loaded.eager(), plan, **around)


def _compiled(request: StageRequest, plan: tuple[int, ...]) -> tuple[RunRecord, list[dict[str, Any]]]:
    record = CompileRecord()
    compiled = record.compiled(request.loaded.model())
    with record.watching():
        run = record_calls(request.loaded, compiled, plan)
        if not any(call.raised for call in run.calls):
            record.tell_if_left(compiled, inputs_of(request.loaded, 0))
    known: dict[object, dict[str, Any]] = {}
    for met in record.breaks:
        seen = met.observed()
        known.setdefault((seen.user, seen.gb_id, met.kind), seen.to_dict())
    return run, list(known.values())


def _recompiles(request: StageRequest) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    known: set[object] = set()
    for change in changes(request.loaded, time.monotonic() + _SECONDS):
        seen = recurring(request.loaded, change, _SECONDS)
        for one in seen.found:
            if one.guard.subject in known:
                continue
            known.add(one.guard.subject)
            observed = Observation("recompile", one.guard.guard, details={"changed": dict(one.change)})
            found.append(observed.at(one.guard.frames).to_dict())
        if change.kind == AGAIN and found:
            break
    return found
