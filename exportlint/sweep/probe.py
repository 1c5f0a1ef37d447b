"""Run by its path, under the interpreter of the trials: what is installed there, and what the models of its zoos are
called.

Only the standard library is imported here, and the zoos that are asked for, which import their libraries.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import importlib.util
import json
import platform
import re
import sys
from pathlib import Path
from typing import Any

HOME, ZOOS, ANSWER = "home", "zoos", "answer"


def main(request: dict[str, Any]) -> None:
    """Write a JSON object: `packages`, and for each zoo `models` (name -> family) or what is `wrong`."""
    sys.path.append(request[HOME])
    packages = {"python": platform.python_version(), **_packages()}
    found: dict[str, Any] = {"packages": packages, "models": {}, "wrong": {}}
    for library, module in request[ZOOS].items():
        try:
            zoo = importlib.import_module(module)
            family = getattr(zoo, "family", _family)
            found["models"][library] = {name: family(name) for name in zoo.names()}
        except ModuleNotFoundError as error:
            missing = str(error.name).partition(".")[0]
            found["wrong"][library] = f"needs {missing}, which is not installed: pip install {missing}"
        except Exception as error:  # noqa: BLE001 (whatever a library does when it is imported)
            found["wrong"][library] = f"importing it raised {type(error).__name__}: {error}"
    Path(request[ANSWER]).write_text(json.dumps(found), "utf-8")


def _packages() -> dict[str, str]:
    """Name that is imported -> name and version of what is installed; only of what has said which names it brings."""
    found: dict[str, str] = {}
    for name, distributions in importlib.metadata.packages_distributions().items():
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = ", ".join(f"{one} {importlib.metadata.version(one)}" for one in sorted({*distributions}))
    # Its own word says of which build it is. It is read: importing torch takes seconds.
    for folder in getattr(importlib.util.find_spec("torch"), "submodule_search_locations", None) or ():
        with contextlib.suppress(OSError):
            said = re.search(r"^__version__ = '(.+)'", Path(folder, "version.py").read_text("utf-8"), re.MULTILINE)
            found["torch"] = said[1] if said else found.get("torch", "unknown")
    return found


def _family(name: str) -> str:
    """The letters that a name begins with: resnet of resnet50, vit of vit_b_16."""
    match = re.match("[A-Za-z]+", name)
    return match[0].lower() if match else name


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
