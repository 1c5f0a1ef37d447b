"""remedies: a refused export once more, each time with one thing changed that leaves what the model computes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.custom_operators.examined_operators import Draft, drafts_of_missing, registered
from exportlint.trial.child.execution.call_record import record_calls
from exportlint.trial.child.execution.eager_records import kept_records
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import export
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.soundness.differences import differences, in_results
from exportlint.trial.child.soundness.torch_checks_tried import checks_that_help
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import PASSED
from exportlint.trial.protocol.remedies import CHECKS, EVAL, FAKE_KERNEL, NO_GRAD, NO_VALIDATION

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.child.localize.missing_checks import Check


Remedy = Callable[["Loaded"], contextlib.AbstractContextManager[Any]]
_SAMPLE = (0,)


def run(request: StageRequest) -> StageAnswer:
    """`refused` in the options: mode -> remedies to try. The first that helps is a note, with "remedy" and "mode"; with
    "checks", what was written behind which line."""
    helped: list[str] = []
    known: list[Check] = []
    drafts = list(_drafts(request))
    remedies: dict[str, Remedy] = {**_REMEDIES, FAKE_KERNEL: partial(_fake_kernels, drafts)}
    for mode, names in request.options["refused"].items():
        for name in names:
            checks = checks_that_help(request, mode, known) if name == CHECKS else []
            if checks or (name != CHECKS and _helps_in_fork(request, mode, name, remedies[name])):
                known = checks or known
                details = {"note": "remedy", "remedy": name, "mode": mode, "checks": [asdict(one) for one in checks]}
                request.emit(Observation("note", details=details))
                helped.append(f"{name} in {mode} mode")
                break
    return StageAnswer(PASSED, f"helps: {', '.join(helped)}" if helped else "none helps")


def _drafts(request: StageRequest) -> Iterator[Draft]:
    """Of the fake kernels that are missing; each is a note at the operator's definition."""
    if any(FAKE_KERNEL in names for names in request.options["refused"].values()):
        for draft in drafts_of_missing(request.loaded, request.folder):
            details = {"note": "fake-kernel-draft", "operator": draft.operator, "code": draft.code}
            request.emit(Observation("note", details=details).at([draft.place] if draft.place else []))
            yield draft


def _helps_in_fork(request: StageRequest, mode: str, name: str, remedy: Remedy) -> bool:
    return bool(in_fork(partial(_helps, request, mode, name, remedy), request.folder).value)


def _helps(request: StageRequest, mode: str, name: str, remedy: Remedy) -> bool:
    """Does the model export then, and agree with eager on the sample?"""
    with remedy(request.loaded) as loaded:
        if loaded is None:
            return False
        exported = export(loaded, mode)
        if name == EVAL:
            return True  # eager was called in training mode
        eager, again = kept_records(request.folder.parent)
        theirs = record_calls(loaded, exported.module(), _SAMPLE)
    return not any(map(in_results, differences(eager, again, theirs)))


@contextlib.contextmanager
def _no_grad(loaded: Loaded) -> Iterator[Loaded]:
    with torch.no_grad():
        yield loaded


@contextlib.contextmanager
def _no_validation(loaded: Loaded) -> Iterator[Loaded]:
    torch.distributions.Distribution.set_default_validate_args(False)
    yield loaded


@contextlib.contextmanager
def _fake_kernels(drafts: Sequence[Draft], loaded: Loaded) -> Iterator[Loaded | None]:
    for draft in drafts:
        registered(draft.code)
    yield loaded if drafts else None


@contextlib.contextmanager
def _eval(loaded: Loaded) -> Iterator[Loaded | None]:
    training = getattr(loaded.model(), "training", False)
    yield replace(loaded, model=lambda: loaded.model().eval()) if training else None


_REMEDIES: dict[str, Remedy] = {
    NO_GRAD: _no_grad,
    NO_VALIDATION: _no_validation,
    EVAL: _eval,
}
