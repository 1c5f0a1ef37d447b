"""remedies: a refused export once more, each time with one thing changed that leaves what the model computes."""

from __future__ import annotations

import contextlib
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.call_record import record_calls
from exportlint.trial.child.execution.eager_records import kept_records
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import export
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import differences
from exportlint.trial.child.soundness.torch_checks_tried import checks_that_help
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import PASSED
from exportlint.trial.protocol.remedies import CHECKS, EVAL, NO_GRAD, NO_VALIDATION

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.child.localize.missing_checks import Check


_SAMPLE = (0,)


def run(request: StageRequest) -> StageAnswer:
    """`refused` in the options: mode -> remedies to try. The first that helps is a note, with "remedy" and "mode"; with
    "checks", what was written behind which line."""
    helped: list[str] = []
    known: list[Check] = []
    for mode, names in request.options["refused"].items():
        for name in names:
            checks = checks_that_help(request, mode, known) if name == CHECKS else []
            if checks or (name != CHECKS and in_fork(partial(_helps, request, mode, name), request.folder).value):
                known = checks or known
                details = {"note": "remedy", "remedy": name, "mode": mode, "checks": [asdict(one) for one in checks]}
                request.emit(Observation("note", details=details))
                helped.append(f"{name} in {mode} mode")
                break
    return StageAnswer(PASSED, f"helps: {', '.join(helped)}" if helped else "none helps")


def _helps(request: StageRequest, mode: str, name: str) -> bool:
    """Does the model export then, and agree with eager on the sample?"""
    with _REMEDIES[name](request.loaded) as loaded:
        if loaded is None:
            return False
        exported = export(loaded, mode)
        if name == EVAL:
            return True  # eager was called in training mode
        eager, again = kept_records(request.folder.parent)
        theirs = record_calls(loaded, exported.module(), _SAMPLE)
    return not any(seen.check in ("output", "raises", "input-effect") for seen in differences(eager, again, theirs))


@contextlib.contextmanager
def _no_grad(loaded: Loaded) -> Iterator[Loaded]:
    with torch.no_grad():
        yield loaded


@contextlib.contextmanager
def _no_validation(loaded: Loaded) -> Iterator[Loaded]:
    torch.distributions.Distribution.set_default_validate_args(False)
    yield loaded


@contextlib.contextmanager
def _eval(loaded: Loaded) -> Iterator[Loaded | None]:
    training = getattr(loaded.model(), "training", False)
    yield replace(loaded, model=lambda: loaded.model().eval()) if training else None


_REMEDIES: dict[str, Callable[[Loaded], contextlib.AbstractContextManager[Any]]] = {
    NO_GRAD: _no_grad,
    NO_VALIDATION: _no_validation,
    EVAL: _eval,
}
