"""read-elsewhere: the program is saved here, and read and run by the torch of another environment."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child import read_and_run
from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import from_program
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED, DIFFERS, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path


@from_program
def run(request: StageRequest, program: Any) -> StageAnswer:
    """`python` in the options is the other interpreter."""
    saved, inputs, answer = (request.folder / name for name in ("program.pt2", "inputs.pt", "answer"))
    try:
        torch.export.save(program, saved)
        torch.save(inputs_of(request.loaded, 0), inputs)
    except Exception as exc:  # noqa: BLE001 - torch lets anything through
        return StageAnswer(SKIPPED, short(f"the program or its inputs cannot be saved: {exc}"))
    try:
        ended = _started(request, saved, inputs, answer)
    except OSError as exc:
        return _not_done(f"--read-with {request.options['python']} cannot be started: {exc.strerror}")
    if not answer.exists():
        return StageAnswer(CRASHED, short(f"the other interpreter gave no answer: {ended}"))
    return _judged(request, program, json.loads(answer.read_text("utf-8")), answer)


def _started(request: StageRequest, *files: Path) -> str:
    """What it printed last; empty where it came to its end. Raises OSError where it cannot be started."""
    command = [request.options["python"], str(read_and_run.__file__), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=request.folder)
    return "" if done.returncode == 0 else done.stderr.strip().rpartition("\n")[2]


def _not_done(why: str) -> StageAnswer:
    """What was asked for cannot be done, whatever the model is."""
    return StageAnswer(SKIPPED, short(why), {"cannot_be_done": why})


def _judged(request: StageRequest, program: Any, said: Mapping[str, Any], answer: Path) -> StageAnswer:
    where = f"torch {said.get('torch')} of {request.options['python']}"
    if said["step"] == "import torch":
        return _not_done(f"--read-with {request.options['python']} has no torch: {said['raised']}")
    if "raised" in said:
        does_not = {"read": "does not read the program", "run": "reads the program and cannot run it"}[said["step"]]
        details = {"summary": f"{where} {does_not}: {said['raised']}"}
        request.emit(Observation("exception", str(said["raised"]), details=details))
        return StageAnswer(REFUSED, short(f"{where} {does_not}: {said['raised']}"))
    args, kwargs = inputs_of(request.loaded, 0)
    seed(0)
    ours = pytree.tree_leaves(program.module()(*args, **kwargs))
    theirs = torch.load(f"{answer}.outputs", weights_only=False)
    if found := compare(snapshot(ours), snapshot(theirs)):
        request.emit(Observation("difference", details={"check": "elsewhere", "where": where, **found.fields()}))
        return StageAnswer(DIFFERS, None)
    return StageAnswer(PASSED, f"{where} reads the program and gives the same")
