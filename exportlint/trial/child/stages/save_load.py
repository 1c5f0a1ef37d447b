"""save-load: the exported program is written, read in a fresh process that imports torch alone, and run beside it."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.lowering.saved_program import SavedProgram, modules_needed
from exportlint.trial.child.custom_operators.examined_operators import defined_at
from exportlint.trial.child.execution.graph_places import place_named_in
from exportlint.trial.child.execution.request import StageAnswer, StageRequest
from exportlint.trial.child.export.export_call import from_program
from exportlint.trial.child.export.refusal_lines import at_construction
from exportlint.trial.child.loading.edited_files import laid_files
from exportlint.trial.child.lowering.proof import prove
from exportlint.trial.child.lowering.proof_subject import ProofSubject, Proved, calls_of, module_of
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.child.torch_private.operators import is_operator
from exportlint.trial.protocol.outcomes import PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.torch_messages import class_of_a_script, lacks_operators

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.protocol.observation import Observation


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
    proved, imported = _proved(request, program, "saved", {}), ""
    needed = modules_needed(program) if proved.data.get("step") == "load" else []
    if needed:
        settings = {"imports": needed, "path": sys.path, "edited": laid_files()}
        # Of a class that is not known torch says just that; what else is wrong it says where the class is imported.
        again = _proved(request, program, "saved-with-imports", settings)
        if again.data.get("step") != "import":
            proved = again
            imported = f", read where {_listed(needed)} is imported" if again.status == PASSED else ""
    scripts_own = set(_operators_of_a_script(program)) if proved.data.get("step") == "load" else set()
    if scripts_own:
        listed = " and ".join(f"`{name}`" for name in sorted(scripts_own))
        return StageAnswer(SKIPPED, f"the script itself registers {listed}, as a process that loads it has to, too")
    unknown = proved.data.get("step") == "load" and any(lacks_operators(seen.text) for seen in proved.observations)
    places = {name: place for name in _custom_operators(program) if (place := defined_at(name))} if unknown else {}
    if places:
        told = " and ".join(f"`{name}` ({Path(one.path).name}:{one.line})" for name, one in places.items())
        return StageAnswer(SKIPPED, f"whoever loads it has to register {told} first, which no import alone does")
    if mine := next(filter(None, (class_of_a_script(seen.text) for seen in proved.observations)), ""):
        return StageAnswer(SKIPPED, f"`{mine}` is a class of the script itself, which no process that loads it has")
    keys = list(_keys_that_are_lost(program)) if proved.status == REFUSED else []
    for seen in proved.observations:
        placed = _placed(request, program, seen)
        request.emit(placed.with_details(**_of_keys(keys[0])) if keys and _UNHASHABLE in seen.text else placed)
    if proved.status != PASSED:
        return StageAnswer(proved.status, None if proved.status == REFUSED else proved.detail)
    file = Path(proved.data["artefact"])
    size = f"{file.stat().st_size / 1000:.1f} kB"
    return StageAnswer(PASSED, ", ".join([size, *_versions(file)]) + imported)


def _operators_of_a_script(program: Any) -> Iterator[str]:
    """Operators of the program that the running script has registered: no process can import that from a module."""
    for name in _custom_operators(program):
        place = defined_at(name)
        if place is not None and os.path.realpath(place.path) == os.path.realpath(sys.argv[0]):
            yield name


def _custom_operators(program: Any) -> Iterator[str]:
    """Operators of the program that are none of torch's, as `shop::twice`."""
    for node in program.graph.nodes:
        if is_operator(node.target):
            name = str(node.target.name()).partition(".")[0]
            if defined_at(name) is not None:
                yield name


def _proved(request: StageRequest, program: Any, name: str, settings: dict[str, Any]) -> Proved:
    """Beside the exported program itself, which agreed with eager."""
    folder = request.folder / name
    folder.mkdir()
    where = f"{SavedProgram.__module__}:{SavedProgram.__name__}"
    calls = calls_of(request.loaded, request.exported)
    return prove(ProofSubject(where, SavedProgram(settings), program, lambda: module_of(program), calls, folder))


def _placed(request: StageRequest, program: Any, seen: Observation) -> Observation:
    """A refusal in torch's own words, at the object that cannot be saved, or at the node that torch names."""
    if seen.kind != "exception":
        return seen
    plain = {name: value for name, value in seen.details.items() if name not in ("summary", "suggestion")}
    found = at_construction(request, replace(seen, details=plain))
    return found if found.user else found.at(place_named_in(program, found.text))


_UNHASHABLE = "unhashable type"


def _keys_that_are_lost(program: Any) -> Iterator[tuple[Any, ...]]:
    """Keys of dicts among the inputs and outputs that are tuples. A saved program is JSON, which makes a list of each,
    so it is written and read, and raises when it is called (torch 2.13)."""
    for spec in (program.call_spec.in_spec, program.call_spec.out_spec):
        yield from _tuple_keys(pytree.tree_unflatten(list(range(spec.num_leaves)), spec))


def _tuple_keys(value: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict):
        yield from (key for key in value if isinstance(key, tuple))
    if isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _tuple_keys(part)


def _of_keys(key: tuple[Any, ...]) -> dict[str, str]:
    return {
        "summary": f"the program is written and read, and raises when it is called: the key `{key!r}` of a dict is a "
        "tuple, and a list after reading",
        "suggestion": f"use text or a number for a key, such as `{'_'.join(map(str, key))!r}`",
    }


def _listed(modules: list[tuple[str, str]]) -> str:
    return " and ".join(Path(file).name if name.startswith("exportlint_target_") else name for name, file in modules)


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
