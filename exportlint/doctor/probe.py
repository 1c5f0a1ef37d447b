"""Run by its path, in a process of its own: import what it is told to and write down what that shows.

Only the standard library is imported here, and what is asked for. Every step is written before it is taken, so that
who started this knows where a process ended that could not say so.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import signal
import sys
import time
from typing import Any

ANSWER, MODULES, POINT, TORCH, SECONDS, HOME = "answer", "modules", "point", "torch", "seconds", "home"


class _Answer:
    """One JSON object a line: `{"at": STEP}`, and at the end what was found."""

    def __init__(self, path: str) -> None:
        self._path = path

    def say(self, **what: Any) -> None:
        with open(self._path, "a", encoding="utf-8") as file:  # noqa: PTH123 (a Path would be an import more)
            file.write(json.dumps(what) + "\n")


def main(request: dict[str, Any]) -> None:
    answer = _Answer(request[ANSWER])
    found: dict[str, Any] = {}
    cls = None
    if point := request.get(POINT):
        answer.say(at=f"import of {point}")
        found["loaded"], cls = _loaded(point)
    modules = list(request.get(MODULES, ()))
    if isinstance(cls, type) and hasattr(cls, "runtime"):
        found |= _said_by(cls)
        answer.say(said=found)
        modules += [*found["modules"], *found["probes"], *found["runtime"]]
    found["seconds"] = {}
    for module in dict.fromkeys(modules):
        answer.say(at=f"import of {module}", module=module)
        began = time.perf_counter()
        importlib.import_module(module)
        found["seconds"][module] = round(time.perf_counter() - began, 2)
    if request.get(TORCH):
        answer.say(at="first look at torch")
        found |= _of_torch()
    if isinstance(cls, type) and hasattr(cls, "missing"):
        answer.say(at=f"{cls.__name__}.missing()")
        found["missing"] = cls({}).missing()
    answer.say(found=found)


def _loaded(point: str) -> tuple[str, Any]:
    module, _, attribute = point.partition(":")
    thing: Any = importlib.import_module(module)
    for part in attribute.split(".") if attribute else ():
        thing = getattr(thing, part)
    return point, thing


def _said_by(cls: Any) -> dict[str, Any]:
    """What a lowering says that it needs."""
    needs = {name: list(getattr(cls, name, ())) for name in ("packages", "modules", "probes", "runtime")}
    flags = {"runs": bool(getattr(cls, "runs", True)), "compiler": bool(getattr(cls, "compiler", False))}
    return {**needs, **flags, "install": getattr(cls, "install", "")}


def _of_torch() -> dict[str, Any]:
    import torch  # noqa: PLC0415 (asked for)

    cuda = torch.cuda.is_available()
    return {
        "version": str(torch.__version__),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "device": torch.cuda.get_device_name(0) if cuda else None,
    }


if __name__ == "__main__":
    # The folder of this file is no place to import from.
    here = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 (as above)
    if sys.path and os.path.abspath(sys.path[0]) == here:  # noqa: PTH100
        sys.path.pop(0)
    asked = json.loads(sys.argv[1])
    # Where exportlint itself is, which need not be installed.
    sys.path.append(asked[HOME])
    # If who started this is ended before it can end this.
    if hasattr(signal, "alarm"):
        signal.alarm(int(asked[SECONDS]) + 5)
    try:
        main(asked)
    except Exception as error:  # noqa: BLE001 (whatever a package raises is what is asked for)
        name = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
        first = next(iter(str(error).strip().splitlines()), "")
        _Answer(asked[ANSWER]).say(raised=type(error).__name__, text=first, absent=name)
