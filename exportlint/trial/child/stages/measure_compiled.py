"""measure-compiled: what torch.compile does with one fixture class. `exportlint truth` makes records of the answers."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from typing import TYPE_CHECKING, Any

from exportlint.trial.child.compilation.compile_record import CompileRecord
from exportlint.trial.child.compilation.input_changes import AGAIN, changes
from exportlint.trial.child.compilation.recurring import recurring
from exportlint.trial.child.execution.call_record import record_calls, without_left_out
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.compiled_differences import beside_compiled
from exportlint.trial.child.torch_private.dynamo import as_if_exporting
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import PASSED, Compiled
from exportlint.trial.protocol.torch_messages import graph_break_id

if TYPE_CHECKING:
    from exportlint.trial.child.execution.call_record import RunRecord

_PLAN, _SAMPLE_PLAN = (0, 0, 1, 1), (0, 0)
_SECONDS = 20.0  # for looking at one change of the inputs


def run(request: StageRequest) -> StageAnswer:
    """An answer has the "outcome"; "breaks", each an observation; "recompiles", each an observation; or "seen", the
    observation of what differs or raises. "error" where eager itself fails, so that nothing is known."""
    if request.loaded.export or request.loaded.reference:  # what is exported is not the class's own call
        return _report(request, {"error": "the class brings its own export call"})
    plan = _PLAN if request.loaded.other_args else _SAMPLE_PLAN
    eager, again, exporting = (
        in_fork(partial(_eager, request, plan, exporting=flag), request.folder, here=True)
        for flag in (False, False, True)
    )
    if not (eager.ok and again.ok):
        return _report(request, {"error": "eager raises"})
    os.chdir(tempfile.mkdtemp(dir=request.folder))
    seen = in_fork(lambda: _compiled(request, plan), request.folder, here=True)
    if not seen.ok:
        raised = seen.raised.to_dict() if seen.raised else None
        return _report(request, {"outcome": Compiled.RAISES.value, "seen": raised})
    theirs, breaks = seen.value
    quiet = without_left_out(eager.value, exporting.value) if exporting.ok else eager.value
    found = list(beside_compiled(quiet, eager.value, again.value, theirs))
    if found:
        outcome = Compiled.RAISES if found[0].check == "raises" else Compiled.DIFFERS
        return _report(request, {"outcome": outcome.value, "seen": found[0].to_dict(), "breaks": breaks})
    if breaks:
        return _report(request, {"outcome": Compiled.BREAKS.value, "breaks": breaks})
    again_compiled = in_fork(lambda: _recompiles(request), request.folder, here=True)
    recompiles = again_compiled.value or []
    outcome = Compiled.RECOMPILES if recompiles else Compiled.ONE_GRAPH
    return _report(request, {"outcome": outcome.value, "recompiles": recompiles})


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
    known: dict[object, dict[str, Any]] = {}
    for met in record.breaks:
        seen = Observation(
            "graph-break", met.reason[:500], gb_id=graph_break_id(met.reason), details={"kind": met.kind}
        )
        seen = seen.at(met.frames)
        known.setdefault((seen.user, seen.gb_id, met.kind), seen.to_dict())
    return run, list(known.values())


def _recompiles(request: StageRequest) -> list[dict[str, Any]]:
    found = []
    for change in changes(request.loaded):
        seen = recurring(request.loaded, change, _SECONDS)
        for one in seen.found:
            observed = Observation("recompile", one.guard.guard, details={"changed": dict(one.change)})
            found.append(observed.at(one.guard.frames).to_dict())
        if change.kind == AGAIN and found:
            break
    return found
