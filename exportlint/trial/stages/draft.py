"""draft: torch's draft_export, which goes on after a failure and so names more than the first one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import torch
from torch._logging import structured

from exportlint.trial.calls import inputs_of
from exportlint.trial.observation import Frame, Observation, of_exception, placed
from exportlint.trial.stage import CRASHED, PASSED, REFUSED, SKIPPED, Answer, Request, short
from exportlint.trial.values import seed

if TYPE_CHECKING:
    from collections.abc import Iterator


def run(request: Request) -> Answer:
    """Each issue of the report is an exception observation with `details["draft"]`, its type."""
    draft = getattr(torch.export, "draft_export", None)
    if draft is None:
        return Answer(SKIPPED, f"torch {torch.__version__} has no draft_export")
    if request.loaded.export:
        return Answer(SKIPPED, "the target brings its own export call")
    model = request.loaded.model()
    args, kwargs = inputs_of(request.loaded, 0)
    seed(0)
    try:
        program = draft(model, args, kwargs or None, dynamic_shapes=request.loaded.dynamic_shapes(), strict=False)
    except BaseException as exc:  # noqa: BLE001 - draft_export can end in a bare StopIteration
        seen = of_exception(exc)
        request.emit(seen)
        said = f"draft_export itself failed, {seen.error_class}: {seen.first_line}"
        return Answer(CRASHED if isinstance(exc, StopIteration) else REFUSED, short(said))
    report = getattr(program, "_report", None)
    failures = list(_failures(report))
    for seen in failures:
        request.emit(seen)
    return Answer(REFUSED if failures else PASSED, f"{len(failures)} issues" if len(failures) != 1 else "1 issue")


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
        details = {"draft": kind, "data": {k: str(v)[:500] for k, v in data.items() if "stack" not in k}}
        yield placed("exception", _text(kind, data), frames, error_class=f"draft_export.{kind}", details=details)


def _text(kind: str, data: dict[str, Any]) -> str:
    subject = data.get("expr") or data.get("op") or data.get("reason") or ""
    return f"{kind.replace('_', ' ').lower()}: {subject}".rstrip(": ")


def _frame(entry: Any, names: dict[Any, str]) -> Frame:
    name = entry.get("filename")
    path = names.get(str(name), names.get(name, str(name)))
    return Frame(path, int(entry.get("line") or 0), entry.get("name") or "", (entry.get("loc") or "").strip())
