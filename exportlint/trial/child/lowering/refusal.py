"""What a target raised, or how its runtime ended, as an observation at the line of the model that it is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from exportlint.lowering.backend import Raised
from exportlint.trial.child.lowering.operator_places import placed
from exportlint.trial.child.lowering.proved import ProofSubject, Proved
from exportlint.trial.child.lowering.undecomposed import why_undecomposed
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, REFUSED, TIMED_OUT
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from exportlint.trial.child.lowering.running.fresh_process import ArtefactAnswer


_LAST_WORDS = 300


def refused(subject: ProofSubject, seen: Observation, step: str, data: dict[str, Any], printed: str = "") -> Proved:
    """An exception of the target, in the words of its lowering."""
    raised = Raised(str(seen.error_class), seen.text, printed)
    reason = why_undecomposed(subject.program, seen.text) or subject.lowering.explain(raised)
    summary = f"{step}: {short(reason.text)}"
    seen = seen.with_details(step=step, summary=summary, suggestion=reason.suggestion)
    seen = placed(subject.program, seen, reason, subject.name)
    return Proved(REFUSED, short(summary), (seen,), {**data, "step": step})


def ended(results: ArtefactAnswer, data: dict[str, Any]) -> Proved:
    """A runtime that took its process down, or that gave no answer; with what it printed last."""
    last = " ".join(results.printed.split())[-_LAST_WORDS:]
    words = short(f"{results.step}: {results.ended}" + (f"; it printed: {last}" if last else ""))
    seen = Observation("exception", words, details={"step": results.step, "summary": words})
    return Proved(TIMED_OUT if results.timed_out else CRASHED, words, (seen,), {**data, "step": results.step})
