"""What eager and the exported program give for the calls that prove an artefact."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.lowering.backend import COMPILED as USUAL_TOLERANCE
from exportlint.trial.child.lowering.comparing.first_mismatch import first_mismatch
from exportlint.trial.child.lowering.comparing.input_calls import Expected, expected, module_of
from exportlint.trial.child.lowering.comparing.written_buffers import written_buffers
from exportlint.trial.child.lowering.proved import EagerReference, ProofSubject, Proved
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.protocol.outcomes import CRASHED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Sequence


def eager_reference(subject: ProofSubject) -> EagerReference | Proved:
    """In a fork, so that the program stays as it is."""
    result = in_fork(lambda: _called(subject), subject.folder.parent)
    if not result.ok:
        if result.raised is None:
            return Proved(CRASHED, short(f"eager, beside which it is compared: {result.ended}"))
        return Proved(SKIPPED, short(f"eager raised: {result.raised.first_line}"))
    found: EagerReference = result.value
    return found if found.calls else Proved(SKIPPED, "eager raised: nothing to compare with")


def _called(subject: ProofSubject) -> EagerReference:
    spec = subject.program.call_spec.in_spec
    ours = expected(subject.build_model(), subject.calls, spec)
    theirs = expected(module_of(subject.program), subject.calls, spec)
    taken = [call for call, a, b in zip(subject.calls, ours, theirs, strict=True) if not a.raised and not b.raised]
    if len(taken) < len(subject.calls):  # a call that raised may have left something behind
        ours, theirs = (expected(model, taken, spec) for model in (subject.build_model(), module_of(subject.program)))
    others = expected(subject.build_model(), taken, spec, first_seed=50)
    written = [] if subject.lowering.keeps_state else written_buffers(subject.build_model, taken, spec)
    steady = first_mismatch(ours, _pairs(others), USUAL_TOLERANCE) is None
    return EagerReference(taken, ours, theirs, steady, tuple(written))


def _pairs(results: Sequence[Expected]) -> list[tuple[list[Any], list[Any]]]:
    return [(one.outputs, one.inputs) for one in results]
