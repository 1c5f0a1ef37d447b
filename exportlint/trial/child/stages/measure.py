"""measure: what torch does with one fixture class in one mode. `exportlint truth` makes its records of the answers."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.call_record import RunRecord, record_calls, without_left_out
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import Exported, export, warnings_kept
from exportlint.trial.child.server.forks import ForkResult, in_fork
from exportlint.trial.child.soundness.differences import differences, eager_after
from exportlint.trial.child.soundness.second_export import changed_literals, literals, literals_of_second_export
from exportlint.trial.child.torch_private.dynamo import as_if_exporting
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.outcomes import PASSED, Outcome
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.torch_messages import deprecated_name

if TYPE_CHECKING:
    import warnings
    from collections.abc import Callable, Sequence

    from exportlint.trial.protocol.observation import Observation


_PLAN, _SAMPLE_PLAN = (0, 0, 1, 1), (0, 0)


def run(request: StageRequest) -> StageAnswer:
    """Report the outcome as soon as it stands; what comes after export only adds `then`.

    An answer is {"outcome"} with "seen" (the observation that shows it), or with "error" (why there is none).
    """
    # Most Bad classes are refused, and then nothing else is to be run. This process stays as it was.
    second = in_fork(lambda: literals_of_second_export(request, request.mode), request.folder, here=True)
    if second.raised:
        return _report(request, _outcome(Outcome.REFUSED, second.raised))
    if second.ended:
        return _report(request, {"outcome": Outcome.CRASHED.value, "error": second.ended})
    return _compare(request, second.value)


def _report(request: StageRequest, measured: dict[str, Any]) -> StageAnswer:
    request.send({"measured": measured})
    return StageAnswer(PASSED, measured["outcome"])


def _outcome(outcome: Outcome, seen: Observation) -> dict[str, Any]:
    return {"outcome": outcome.value, "seen": seen.to_dict()}


def _compare(request: StageRequest, second: dict[str, Any]) -> StageAnswer:
    plan = _PLAN if request.loaded.other_args else _SAMPLE_PLAN
    eager, again = (
        in_fork(lambda: record_calls(request.loaded, request.loaded.eager(), plan), request.folder, here=True)
        for _ in range(2)
    )
    if not (eager.ok and again.ok):
        return _report(request, {"outcome": Outcome.DIFFERS.value, "error": f"eager raises: {_why(eager, again)}"})
    runs = _without_left_out(request, (eager.value, again.value), plan)
    os.chdir(tempfile.mkdtemp(dir=request.folder))
    with warnings_kept() as kept:
        exported = export(request.loaded, request.mode)
        warned = _deprecated(kept, request.loaded.target.path)
        seen = _first_difference(request, exported, runs, second, plan)
        measured = {"outcome": Outcome.EXPORTS.value} if seen is None else _outcome(Outcome.DIFFERS, seen)
        _report(request, measured)
        return _report(request, {**measured, **_then(exported), **warned})


def _without_left_out(
    request: StageRequest, runs: tuple[RunRecord, RunRecord], plan: tuple[int, ...]
) -> tuple[RunRecord, RunRecord]:
    """What a model does only where nobody exports is not asked of the program."""

    def exporting() -> RunRecord:
        return record_calls(request.loaded, request.loaded.eager(), plan, around=as_if_exporting)

    run = in_fork(exporting, request.folder, here=True)
    return (without_left_out(runs[0], run.value), without_left_out(runs[1], run.value)) if run.ok else runs


def _deprecated(kept: Sequence[warnings.WarningMessage], path: str | None) -> dict[str, Any]:
    """What torch said last of a call of the fixture that it will drop; such a warning begins with its name."""
    source = Path(path).read_text("utf-8") if path else ""
    ours = (str(one.message) for one in kept if issubclass(one.category, FutureWarning | DeprecationWarning))
    words = [short(text) for text in ours if (name := deprecated_name(text)) and name in source]
    return {"deprecated": words[-1]} if words else {}


def _why(eager: ForkResult, again: ForkResult) -> str:
    """Why eager could not be run. RuntimeError where it was not the model's doing."""
    for one in (eager, again):
        if one.raised and one.raised.user is None:
            raise RuntimeError(f"the measuring itself failed: {one.raised!r}")
    raised = eager.raised or again.raised
    return eager.ended or again.ended or short(raised.text if raised else "")


def _first_difference(
    request: StageRequest,
    exported: Exported,
    eager: tuple[RunRecord, RunRecord],
    second: dict[str, Any],
    plan: tuple[int, ...],
) -> Observation | None:
    # Before the program runs: it shares its buffers with the model. In a fork: the model's run is not to reach them.
    after = in_fork(lambda: record_calls(request.loaded, exported.model, plan), request.folder)
    try:
        ours = literals(exported.program)
        theirs = record_calls(request.loaded, exported.module(), plan)
    except BaseException as exc:  # noqa: BLE001 - `ep.module()` itself may raise
        return of_exception(exc).with_details(check="raises")
    found = [*changed_literals(ours, second or {}), *differences(*eager, theirs)]
    if exported.model is not None and after.value is not None:
        found += eager_after(*eager, after.value)
    return found[0] if found else None


def _then(exported: Exported) -> dict[str, Any]:
    if not exported.is_program:
        return {}
    steps = {"decompose": exported.program.run_decompositions, "save": lambda: _save_and_load(exported.program)}
    failed = {name: words for name, step in steps.items() if (words := _refusal(step))}
    return {"then": failed} if failed else {}


def _refusal(step: Callable[[], Any]) -> str | None:
    """Torch's words; None where it accepts."""
    try:
        step()
    except BaseException as exc:  # noqa: BLE001 - as for export
        return short(str(exc) or type(exc).__name__)
    return None


def _save_and_load(program: Any) -> None:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    torch.export.load(buffer)
