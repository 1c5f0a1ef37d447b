"""What torch documents of its own limits: the copy in this package, and what an installed torch says.

The copy, `reference.json`, was made from the torch version named in it, so that links and `exportlint explain` work
where torch is not installed. `python -m exportlint.reference.stored` writes it anew.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from exportlint.reference.torch_sources import ExportDBCase, GraphBreak, Reference, read_torch

STORED = Path(__file__).with_name("reference.json")


@cache
def stored() -> Reference:
    """The copy in the package."""
    found = json.loads(STORED.read_bytes())
    return Reference(
        found["torch"],
        {name: ExportDBCase(**one | {"tags": tuple(one["tags"])}) for name, one in found["cases"].items()},
        {gb_id: GraphBreak(**one | {"hints": tuple(one["hints"])}) for gb_id, one in found["graph_breaks"].items()},
    )


@cache
def installed() -> Reference | None:
    """What the installed torch's files say; None without torch. torch is not imported."""
    spec = find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        return None
    return read_torch(Path(spec.submodule_search_locations[0]))


def write(path: Path = STORED) -> Reference:
    """Store what the installed torch says; gives back what was stored."""
    found = installed()
    if found is None:
        raise FileNotFoundError("torch is not installed here, and the copy is made from its files")
    path.write_text(json.dumps(asdict(found), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return found


if __name__ == "__main__":
    write()
