"""Prove that a target computes what eager does: compile, load in a fresh process, run, compare. What it raises is an
answer, at the line of the model that it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves
from exportlint.trial.child.lowering.comparing.dropped_guards import dropped, guards_of
from exportlint.trial.child.lowering.comparing.eager_reference import eager_reference
from exportlint.trial.child.lowering.comparing.input_calls import input_leaves
from exportlint.trial.child.lowering.comparing.judging import judged, size_text, tolerance_of
from exportlint.trial.child.lowering.dry_run import as_it_ran, operator_support, told_missing
from exportlint.trial.child.lowering.proved import EagerReference, ProofSubject, Proved
from exportlint.trial.child.lowering.refusal import ended, refused
from exportlint.trial.child.lowering.result_cache import key_of, recalled, remember
from exportlint.trial.child.lowering.running.fresh_process import FreshProcess
from exportlint.trial.protocol.observation import of_exception
from exportlint.trial.protocol.operator_support import OperatorSupport
from exportlint.trial.protocol.outcomes import COMPILED, DIFFERS, PASSED, REFUSED, SKIPPED

if TYPE_CHECKING:
    from pathlib import Path


def prove(subject: ProofSubject) -> Proved:
    """All steps, or what an earlier run with the same program, inputs, versions and settings came to."""
    if why := subject.lowering.missing():
        return Proved(SKIPPED, why)
    reference = eager_reference(subject)
    if isinstance(reference, Proved):
        return reference
    given = [array_leaves(input_leaves(call.given, subject.program.call_spec.in_spec)) for call in reference.calls]
    key = ""
    if subject.cache:
        packages = subject.lowering.packages
        asked = {**subject.lowering.settings, "operators": subject.operators}
        key = key_of(subject.name, asked, packages, subject.program, given)
        if found := recalled(subject.cache, key):
            earlier = Proved.from_dict(found)
            return replace(earlier, data={**earlier.data, "recalled": True})
    proved = _proved(subject, reference, given)
    if subject.cache and proved.status in (PASSED, DIFFERS, REFUSED):
        remember(subject.cache, key, proved.to_dict())
    return proved


def _proved(subject: ProofSubject, reference: EagerReference, given: list[list[Any]]) -> Proved:
    with FreshProcess(subject.name, subject.lowering, subject.folder.parent) as process:
        early = subject.operators or not subject.lowering.slow_dry_run
        support = operator_support(subject.lowering, subject.program) if early else OperatorSupport()
        proved = _compiled_and_run(subject, reference, given, process)
    if proved.status == REFUSED and not early:
        support = operator_support(subject.lowering, subject.program)
    return with_operators(proved, support)


def with_operators(proved: Proved, support: OperatorSupport) -> Proved:
    """With what the dry run said; an operator that it misses is told where no failure is about it."""
    if proved.status in (PASSED, COMPILED):
        support = as_it_ran(support)
    compiled = "step" in proved.data
    untold = told_missing(support, proved.observations, compiled=compiled)
    data = {**proved.data, "operators": support.to_dict()}
    return replace(proved, observations=(*proved.observations, *untold), data=data)


def _compiled_and_run(
    subject: ProofSubject, reference: EagerReference, given: list[list[Any]], process: FreshProcess
) -> Proved:
    data: dict[str, Any] = {}
    lowering = subject.lowering
    try:
        artefact = lowering.compile(subject.program, subject.folder)
        data |= {"bytes": _size(artefact), "artefact": str(artefact)}
    except Exception as exc:  # noqa: BLE001 - backends raise anything
        return refused(subject, of_exception(exc), "compile", data)
    if not lowering.runs:
        return Proved(COMPILED, f"{size_text(data)}; compiled, not run: it cannot run on this machine", data=data)
    guards = guards_of(subject)
    results = process.run(artefact, lowering.facts, [*given, *(one.leaves for one in guards)], subject.seconds)
    if len(results.calls) < len(given):  # what is raised by a call behind a guard shows that the target kept it
        if results.raised:
            return refused(subject, results.raised, results.step, data, results.printed)
        return ended(results, data)
    ours, beside = results.calls[: len(given)], results.calls[len(given) :]
    return judged(subject, reference, ours, tuple(dropped(guards, beside, tolerance_of(lowering))), data)


def _size(artefact: Path) -> int:
    files = artefact.rglob("*") if artefact.is_dir() else artefact.parent.glob(f"{artefact.stem}.*")
    return sum(file.stat().st_size for file in files if file.is_file())
