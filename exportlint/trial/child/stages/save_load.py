"""save-load: the exported program is written, read again, and run beside eager."""

from __future__ import annotations

import json
import zipfile
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.graph_places import place_named_in
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.from_program import from_program
from exportlint.trial.child.localize.construction_site import at_construction
from exportlint.trial.child.soundness.sample_comparison import compared_on_sample
from exportlint.trial.protocol.exceptions import of_exception
from exportlint.trial.protocol.outcomes import REFUSED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


# For a script that shows the failure without exportlint: from `program` to `exported`, which is called as the model is.
REPRO = """\
import io

file = io.BytesIO()
torch.export.save(program, file)
file.seek(0)
program = torch.export.load(file)
exported = program.module()
"""


@from_program
def run(request: StageRequest, program: Any) -> StageAnswer:
    """The detail is the size of the file, and the versions that decide which torch reads it."""
    file = request.folder / "program.pt2"
    try:
        torch.export.save(program, file)
        loaded = torch.export.load(file)
    except BaseException as exc:  # noqa: BLE001 - torch lets anything through
        seen = at_construction(request, of_exception(exc))
        request.emit(seen if seen.user else seen.at(place_named_in(program, seen.text)))
        return StageAnswer(REFUSED, None)
    size = f"{file.stat().st_size / 1000:.1f} kB"
    return compared_on_sample(request, loaded.module, ", ".join([size, *_versions(file)]))


def _versions(archive: Path) -> Iterator[str]:
    """Of the schema, of the operator sets and of torch, as the file itself says them."""
    with zipfile.ZipFile(archive) as files:
        for name in files.namelist():
            found = json.loads(files.read(name)) if name.endswith(".json") else None
            if isinstance(found, dict) and "schema_version" in found:
                schema = found["schema_version"]
                yield f"schema {schema['major']}.{schema['minor']}"
                yield from (f"opset {name} {version}" for name, version in found.get("opset_version", {}).items())
                if written_by := found.get("torch_version"):
                    yield f"torch {written_by.partition('+')[0]}"
                return
