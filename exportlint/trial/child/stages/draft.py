"""draft: torch's draft_export, which goes on after a failure and so names more than the first one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private.draft_report import issues
from exportlint.trial.child.torch_private.tensors import real_parameters
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.outcomes import CRASHED, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short
from exportlint.trial.protocol.torch_messages import condition, is_of_shared_dim

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
    failures = list(_failures(program))
    for seen in failures:
        request.emit(seen)
    return StageAnswer(REFUSED if failures else PASSED, f"{len(failures)} issues" if len(failures) != 1 else "1 issue")


_MOST = 500  # characters of each field of an issue


def _failures(program: Any) -> Iterator[Observation]:
    decided = set[str]()
    for issue in issues(program):
        data, kind = issue.data, issue.kind
        subject = str(data.get("expr") or data.get("op") or data.get("reason") or "")
        if kind == "DATA_DEPENDENT_ERROR":
            decided.add(subject)
        # A Dim that is shared; and the sample's answer to what was refused just before.
        elif kind == "GUARD_ADDED" and (is_of_shared_dim(subject) or subject in decided):
            continue
        given = {key: str(value)[:_MOST] for key, value in data.items() if "stack" not in key}
        sizes = data.get("symbol_to_sources") or {}
        if "storage_offset()" in str(sizes):  # of a row that a branch of cond is given: that is no size
            continue
        of_sizes = kind == "GUARD_ADDED" and bool(sizes)
        details = {"draft": kind, "subject": condition(subject, sizes) if of_sizes else subject, "data": given}
        name = f"draft_export.{kind}{'_ON_SIZES' if of_sizes else ''}"
        yield Observation("exception", error_class=name, details=details).at(issue.frames)
