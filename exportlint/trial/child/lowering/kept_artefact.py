"""Put an artefact that passed into a folder of its own, with the sample's inputs and a script that runs it."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.lowering.arrays import BFLOAT16, TensorBytes, torch_leaves
from exportlint.lowering.leaf_files import write_npz

if TYPE_CHECKING:
    from collections.abc import Sequence

    from exportlint.lowering.backend import Lowering


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
