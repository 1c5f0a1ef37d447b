"""Models of the test itself on a target that is named: the proof, and the scripts that a lowering brings."""

from __future__ import annotations

import importlib
import subprocess
import sys
from dataclasses import replace
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

import torch

from exportlint.lowering.arrays import array_leaves
from exportlint.trial.child.export.export_call import export
from exportlint.trial.child.loading.loaded import of_values
from exportlint.trial.child.lowering.proof import prove
from exportlint.trial.child.lowering.proof_subject import ProofSubject, calls_of, input_leaves
from exportlint.trial.child.stages.lower import kept_artefact
from exportlint.trial.child.torch_private.symbolic_shapes import recorded_decisions
from exportlint.trial.protocol.outcomes import NON_STRICT
from exportlint.trial.protocol.target import Target, TargetKind

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from exportlint.lowering.backend import Lowering
    from exportlint.trial.child.lowering.proof_subject import Proved

TARGET = Target("model", TargetKind.OBJECTS, "")


def made(lowering_name: str, settings: Mapping[str, Any] | None = None) -> tuple[str, Lowering]:
    """`module:Class` of a lowering that is installed, and one of the class."""
    (entry,) = entry_points(group="exportlint.lowerings", name=lowering_name)
    return entry.value, entry.load()(settings or {})


def proof_of(
    lowering_name: str, settings: Mapping[str, Any] | None, model: Any, given: Any, dynamic_shapes: Any, folder: Path
) -> Proved:
    """All steps of the proof; `given` is (args, kwargs), `folder` an empty one."""
    name, lowering = made(lowering_name, settings)
    loaded = of_values(TARGET, model, *given, dynamic_shapes)
    with recorded_decisions() as decisions:
        exported = replace(export(loaded, NON_STRICT), sizes=decisions)
    return prove(ProofSubject(name, lowering, exported.program, loaded.eager, calls_of(loaded, exported), folder))


def line(proof: Proved) -> str | None:
    """The source of the line that the only observation stands at."""
    (seen,) = proof.observations
    return seen.user.text if seen.user else None


def printed_by_script(lowering_name: str, model: Any, args: Any, kwargs: Any, folder: Path) -> list[str]:
    """Compile and keep the artefact, then run the script that lies beside it; the lines that it prints."""
    _, lowering = made(lowering_name)
    program = torch.export.export(model.eval(), args, kwargs)
    (folder / "lowering").mkdir()
    artefact = lowering.compile(program, folder / "lowering")
    leaves = array_leaves(input_leaves((args, kwargs), program.call_spec.in_spec))
    kept = kept_artefact(lowering, artefact, leaves, folder)
    return subprocess.check_output([sys.executable, "run.py"], cwd=kept, text=True).splitlines()


def given_by_repro(lowering_name: str, model: Any, args: Any) -> Any:
    """What `exported` of the lowering's REPRO gives."""
    name, _ = made(lowering_name)
    namespace = {"torch": torch, "program": torch.export.export(model.eval(), args)}
    exec(importlib.import_module(name.partition(":")[0]).REPRO, namespace)  # noqa: S102 - that is what it is for
    return namespace["exported"](*args)
