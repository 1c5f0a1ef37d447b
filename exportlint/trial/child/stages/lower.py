"""lower-<name>: prove that a target of deployment computes what eager does; the options name its lowering."""

from __future__ import annotations

import importlib
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.lowering.arrays import BFLOAT16, TensorBytes, array_leaves, torch_leaves
from exportlint.lowering.leaf_files import write_npz
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import from_program
from exportlint.trial.child.lowering.dry_run import operator_support
from exportlint.trial.child.lowering.proof import prove, versions_of, with_operators
from exportlint.trial.child.lowering.proof_subject import ProofSubject, Proved, calls_of, input_leaves
from exportlint.trial.protocol.outcomes import PASSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Sequence

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


# Put an artefact that passed into a folder of its own, with the sample's inputs and a script that runs it.


SCRIPT = "run.py"


def kept_artefact(lowering: Lowering, artefact: Path, leaves: Sequence[Any], home: Path) -> str:
    """A new folder below `home` with all that compiling wrote, the inputs, and the script; the folder's path.

    What lies beside the artefact goes with it: weights in files of their own are found by their names.
    """
    folder = Path(tempfile.mkdtemp(dir=home))
    for part in artefact.parent.iterdir():
        shutil.move(part, folder / part.name)
    if lowering.script and not why_no_script(lowering, leaves):
        inputs = _written(leaves, folder, _for_torch(lowering))
        text = lowering.script.replace("{artefact}", artefact.name).replace("{inputs}", inputs)
        (folder / SCRIPT).write_text(text, "utf-8")
    return str(folder)


def why_no_script(lowering: Lowering, leaves: Sequence[Any]) -> str:
    """A script with NumPy alone cannot read these inputs; "" where it can."""
    strange = any(isinstance(leaf, TensorBytes) and leaf.dtype == BFLOAT16 for leaf in leaves)
    return "no script is kept: NumPy has no bfloat16" if strange and not _for_torch(lowering) else ""


def _for_torch(lowering: Lowering) -> bool:
    return not lowering.script or "torch.load" in lowering.script


def _written(leaves: Sequence[Any], folder: Path, for_torch: bool) -> str:
    """The leaves of (args, kwargs): a list for torch.load; else arrays and numbers by their position for NumPy."""
    if for_torch:
        torch.save(torch_leaves(leaves), folder / "inputs.pt")
        return "inputs.pt"
    write_npz(folder / "inputs.npz", leaves)
    return "inputs.npz"
