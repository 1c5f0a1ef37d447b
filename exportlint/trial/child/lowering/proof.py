"""Prove that a target computes what eager does: compile, load in a fresh process, run, compare. What it raises is an
answer, at the line of the model that it is about.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.lowering.arrays import TensorBytes, array_leaves
from exportlint.lowering.backend import Raised
from exportlint.trial.child.lowering.artefact_processes import FreshProcess
from exportlint.trial.child.lowering.comparing import dropped, eager_reference, guards_of
from exportlint.trial.child.lowering.dry_run import as_it_ran, operator_support, told_missing
from exportlint.trial.child.lowering.judging import judged, size_text, tolerance_of
from exportlint.trial.child.lowering.operator_places import placed
from exportlint.trial.child.lowering.proof_subject import EagerReference, ProofSubject, Proved, input_leaves
from exportlint.trial.child.lowering.undecomposed import why_undecomposed
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.operator_support import OperatorSupport
from exportlint.trial.protocol.outcomes import COMPILED, CRASHED, DIFFERS, PASSED, REFUSED, SKIPPED, TIMED_OUT
from exportlint.trial.protocol.shortening import short
from exportlint.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from exportlint.trial.child.lowering.artefact_processes import ArtefactAnswer


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


# What a target raised, or how its runtime ended, as an observation at the line of the model that it is about.


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


# Keep what a lowering came to, for the same graph, weights, inputs, target, versions and settings.


KEPT_DAYS = 30
_DAY = 86_400


def key_of(
    lowering: str,
    settings: Mapping[str, Any],
    packages: Sequence[str],
    program: torch.export.ExportedProgram,
    calls: Sequence[Sequence[Any]],
) -> str:
    """A name that changes with everything the result rests on."""
    digest = hashlib.blake2b(digest_size=20)
    head = [__version__, lowering, settings, versions_of(packages), os.environ.get("CXX", "")]
    digest.update(json.dumps(head, sort_keys=True, default=str).encode())
    for part in _parts(program, calls):
        digest.update(part)
    return digest.hexdigest()


def versions_of(packages: Sequence[str]) -> dict[str, str]:
    """Distribution -> its version; "" of one that is not installed."""
    return {name: _version(name) for name in packages}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _parts(program: torch.export.ExportedProgram, calls: Sequence[Sequence[Any]]) -> Iterator[bytes]:
    """The graph with its lines, since findings stand there; then every weight and every input by its bytes."""
    for node in program.graph.nodes:
        yield f"{node.format_node()} {_shape(node.meta.get('val'))} {node.meta.get('stack_trace')}".encode()
    for module in program.graph_module.modules():
        if isinstance(module, torch.fx.GraphModule):
            yield module.code.encode()
    yield f"{program.graph_signature} {program.range_constraints}".encode()
    for name, value in sorted({**program.state_dict, **program.constants}.items()):
        yield name.encode()
        yield from _bytes(value)
    for leaves in calls:
        for leaf in leaves:
            yield from _bytes(leaf)


def _shape(value: Any) -> str:
    return f"{value.dtype} {tuple(value.shape)}" if isinstance(value, torch.Tensor) else str(value)


def _bytes(value: Any) -> Iterator[bytes]:
    if isinstance(value, torch.Tensor) and value.layout == torch.strided and not value.is_quantized:
        value = TensorBytes.of(value)
    if isinstance(value, TensorBytes):
        yield f"{value.dtype} {value.shape}".encode()
        yield value.data
    else:
        yield repr(value).encode()


def recalled(folder: Path, key: str) -> dict[str, Any] | None:
    """What `remember` kept; None where there is nothing, or nothing that can be read."""
    try:
        found = json.loads((folder / f"{key}.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def remember(folder: Path, key: str, result: Mapping[str, Any]) -> None:
    """Keep it, whole or not at all; a folder that cannot be written keeps nothing."""
    with contextlib.suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        _forget_old(folder)
        handle, name = tempfile.mkstemp(dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(result, file, default=str)
        Path(name).replace(folder / f"{key}.json")


def _forget_old(folder: Path) -> None:
    for file in folder.iterdir():
        if time.time() - file.stat().st_mtime > KEPT_DAYS * _DAY:
            file.unlink(missing_ok=True)
