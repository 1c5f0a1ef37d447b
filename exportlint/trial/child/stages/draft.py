"""draft: torch's draft_export, which goes on after a failure and so names more than the first one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch._logging import structured

from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.real_parameters import real_parameters
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.frames import Frame
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(request: StageRequest) -> StageAnswer:
    """Each issue of the report is an exception observation with `details["draft"]`, its type."""
    draft = getattr(torch.export, "draft_export", None)
    if draft is None:
        return StageAnswer(SKIPPED, f"torch {torch.__version__} has no draft_export")
    if request.loaded.export:
        return StageAnswer(SKIPPED, "the target brings its own export call")
    model = request.loaded.model()
    args, kwargs = inputs_of(request.loaded, 0)
    seed(0)
    try:
        with real_parameters():
            program = draft(model, args, kwargs or None, dynamic_shapes=request.loaded.dynamic_shapes(), strict=False)
    except BaseException as exc:  # noqa: BLE001 - draft_export can end in a bare StopIteration
        seen = of_exception(exc)
        request.emit(seen)
        failure = f"draft_export itself failed, {seen.error_class}: {seen.first_line}"
        return StageAnswer(CRASHED if isinstance(exc, StopIteration) else REFUSED, short(failure))
    report = getattr(program, "_report", None)
    failures = list(_failures(report))
    for seen in failures:
        request.emit(seen)
    return StageAnswer(REFUSED if failures else PASSED, f"{len(failures)} issues" if len(failures) != 1 else "1 issue")


_MOST = 500  # characters of each field of an issue
# After a violated constraint draft_export lets every dim go its own way, those too that share a Dim.
_SHARED = re.compile(r"Eq\(s\d+, s\d+\)")


def _failures(report: Any) -> Iterator[Observation]:
    # The report lists only the files that no earlier export of this process has met.
    met = {number: name for name, number in structured.INTERN_TABLE.items()}
    names = met | getattr(report, "str_to_filename", {})
    for failure in getattr(report, "failures", ()):
        data = failure.data
        kind = failure.failure_type.name
        if kind == "GUARD_ADDED" and _SHARED.fullmatch(str(data.get("expr"))):
            continue
        frames = [_frame(entry, names) for entry in data.get("user_stack") or data.get("stack") or ()]
        subject = str(data.get("expr") or data.get("op") or data.get("reason") or "")
        given = {key: str(value)[:_MOST] for key, value in data.items() if "stack" not in key}
        details = {"draft": kind, "subject": subject, "data": given}
        yield Observation("exception", error_class=f"draft_export.{kind}", details=details).at(frames)


def _frame(entry: Any, names: dict[Any, str]) -> Frame:
    name = entry.get("filename")
    path = names.get(str(name), names.get(name, str(name)))
    return Frame(path, int(entry.get("line") or 0), entry.get("name") or "", (entry.get("loc") or "").strip())
