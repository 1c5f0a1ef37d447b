"""lower-<name>: prove that a target of deployment computes what eager does; the options name its lowering."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.arrays import array_leaves
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.from_program import from_program
from exportlint.trial.child.lowering.comparing.input_calls import calls_of, input_leaves
from exportlint.trial.child.lowering.dry_run import operator_support
from exportlint.trial.child.lowering.kept_artefact import kept_artefact, why_no_script
from exportlint.trial.child.lowering.proof import prove, with_operators
from exportlint.trial.child.lowering.proved import ProofSubject, Proved
from exportlint.trial.child.lowering.result_cache import versions_of
from exportlint.trial.protocol.outcomes import PASSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    import torch

    from exportlint.lowering.backend import Lowering


@from_program
def run(request: StageRequest, program: torch.export.ExportedProgram) -> StageAnswer:
    """Options: "lowering" (`module:Class`), "settings", "cache" (a folder of earlier results), "artifacts" (a folder
    for what passed), "dry_run" (compile nothing) and "operators" (say what becomes of each)."""
    name = request.options["lowering"]
    try:
        lowering = _made(name, request.options.get("settings", {}))
    except ImportError as exc:
        return StageAnswer(SKIPPED, short(f"{name} cannot be imported: {exc}"))
    loaded = request.loaded
    if request.options.get("dry_run"):
        return _answer(request, _dry_run(lowering, program))
    folder = request.folder / "lowering"
    folder.mkdir()
    kept, cache = (request.options.get(name) for name in ("artifacts", "cache"))
    # A result of an earlier run has no artefact that could be kept.
    recalled = Path(cache) if cache and not kept else None
    calls, operators = calls_of(loaded, request.exported), bool(request.options.get("operators"))
    subject = ProofSubject(name, lowering, program, loaded.eager, calls, folder, recalled, operators=operators)
    proved = prove(subject)
    proved = replace(proved, data={**proved.data, "versions": dict(versions_of(lowering.packages))})
    if kept and proved.status == PASSED:
        leaves = array_leaves(input_leaves(subject.calls[0].given, program.call_spec.in_spec))
        where = kept_artefact(lowering, Path(proved.data["artefact"]), leaves, Path(kept))
        detail = "; ".join(filter(None, (proved.detail, why_no_script(lowering, leaves))))
        proved = replace(proved, detail=detail, data={**proved.data, "kept": where})
    return _answer(request, proved)


def _dry_run(lowering: Lowering, program: torch.export.ExportedProgram) -> Proved:
    if why := lowering.missing():
        return Proved(SKIPPED, why)
    return with_operators(Proved(SKIPPED, None), operator_support(lowering, program))


def _answer(request: StageRequest, proved: Proved) -> StageAnswer:
    for seen in proved.observations:
        request.emit(seen)
    return StageAnswer(proved.status, proved.detail and short(proved.detail), dict(proved.data))


def _made(name: str, settings: dict[str, Any]) -> Lowering:
    module, _, cls = name.partition(":")
    lowering: Lowering = getattr(importlib.import_module(module), cls)(settings)
    return lowering
