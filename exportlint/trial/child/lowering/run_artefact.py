"""The fresh process: `python run_artefact.py MODULE:CLASS SETTINGS` imports the runtime, then waits for the artefact.

Where the runtime is torch, it is a fork of a process that has imported it, see `torch_forks`.

The answer says how far it came, after every step. It has nothing of the model but the artefact.
"""

import importlib
import json
import os
import sys
import traceback
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any


def main(lowering: str, settings: str) -> None:
    """Read one line, {"artefact", "facts", "calls": files, "answer": folder}; write answer.json and the results."""
    from exportlint.trial.child.server.process_control import die_with_parent  # noqa: PLC0415 - only importable now

    die_with_parent()
    said: dict[str, Any] = {"step": "import", "calls": 0}
    request: dict[str, Any] = {}
    try:
        module, _, name = lowering.partition(":")
        backend = getattr(importlib.import_module(module), name)(json.loads(settings))
        os.environ.update(backend.environment)
        for needed in backend.runtime:
            importlib.import_module(needed)
        request = json.loads(sys.stdin.readline() or "{}")
        if not request:  # it did not compile
            return
        _run(backend, request, said)
    except BaseException as exc:  # noqa: BLE001 - whatever it is, it is the answer
        from exportlint.trial.protocol.observation import of_exception  # noqa: PLC0415

        said["raised"] = of_exception(exc, trace=traceback.format_exc()[-2000:]).to_dict()
        request = request or json.loads(sys.stdin.readline() or "{}")
    if request:
        _say(request, said)


def _run(backend: Any, request: dict[str, Any], said: dict[str, Any]) -> None:
    from exportlint.lowering.leaf_files import read_leaves, write_leaves  # noqa: PLC0415 - only importable now

    backend.facts = request["facts"]
    said["step"] = "load"
    _say(request, said)
    call = backend.load(Path(request["artefact"]))
    said["step"] = "run"
    _say(request, said)
    for number, file in enumerate(request["calls"]):
        given = read_leaves(Path(file))
        ran = call(given)
        write_leaves(Path(request["answer"], f"outputs-{number}"), list(ran.outputs))
        write_leaves(Path(request["answer"], f"inputs-{number}"), list(given if ran.inputs is None else ran.inputs))
        said["calls"] = number + 1
        _say(request, said)
    said["step"] = "done"


def _say(request: dict[str, Any], said: dict[str, Any]) -> None:
    """How far it has come: a runtime in C++ may end the process at any moment."""
    part = Path(request["answer"], "answer.part")
    part.write_text(json.dumps(said, default=str), "utf-8")
    part.replace(Path(request["answer"], "answer.json"))


def _make_importable() -> None:
    """The interpreter of `--python` need not have exportlint installed: the package is taken from this folder."""
    del sys.path[0]
    home = Path(__file__).resolve().parents[3]
    spec = spec_from_file_location("exportlint", home / "__init__.py", submodule_search_locations=[str(home)])
    assert spec, "the file is there"  # noqa: S101 - for mypy
    assert spec.loader  # noqa: S101
    sys.modules["exportlint"] = module_from_spec(spec)
    spec.loader.exec_module(sys.modules["exportlint"])


if __name__ == "__main__":
    _make_importable()
    main(*sys.argv[1:])
