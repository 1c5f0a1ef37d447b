"""measure: what torch does with one fixture class in one mode. Its answer goes into the truth, word for word."""

from __future__ import annotations

import io
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.calls import Record, record
from exportlint.trial.comparing import differences, eager_after
from exportlint.trial.exporting import Exported, export, warnings_kept
from exportlint.trial.graphs import baked, literals, perturbed
from exportlint.trial.isolate import in_fork
from exportlint.trial.observation import Observation, of_exception
from exportlint.trial.stage import PASSED, Answer, Request, short

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAN, _SAMPLE_PLAN = (0, 0, 1, 1), (0, 0)


def run(request: Request) -> Answer:
    """Tells the record as soon as the outcome stands; what comes after export only adds `then`."""
    # Most Bad classes are refused, and then nothing else is to be run. This process stays as it was.
    twin = in_fork(lambda: _twin(request), request.folder, here=True)
    if twin.raised:
        return _told(request, _refused(request, twin.raised))
    if twin.ended:
        return _told(request, {"outcome": "crashed", "error": twin.ended, "line": None, "graph_break": None})
    return _exported(request, twin.value)


def _twin(request: Request) -> dict[str, Any]:
    return literals(perturbed(lambda: export(request.loaded, request.mode, 1)).program)


def _exported(request: Request, twin: dict[str, Any]) -> Answer:
    plan = _PLAN if request.loaded.other_args else _SAMPLE_PLAN
    eager, again = (
        in_fork(lambda: record(request.loaded, request.loaded.eager(), plan), request.folder, here=True)
        for _ in range(2)
    )
    if (eager.raised and eager.raised.user_path is None) or (again.raised and again.raised.user_path is None):
        raise RuntimeError(f"the measuring itself failed: {(eager.raised or again.raised)!r}")
    if not (eager.ok and again.ok):
        text = eager.ended or again.ended or short((eager.raised or again.raised or Observation("note", "")).text)
        return _told(
            request, {"outcome": "differs", "error": f"eager raises: {text}", "line": None, "graph_break": None}
        )
    os.chdir(tempfile.mkdtemp(dir=request.folder))
    with warnings_kept():
        exported = export(request.loaded, request.mode)
        seen = _first_difference(request, exported, (eager.value, again.value), twin, plan)
        outcome = {"outcome": "exports"} if seen is None else _differs(request, seen)
        _told(request, outcome)
        return _told(request, {**outcome, **_then(exported)})


def _told(request: Request, measured: dict[str, Any]) -> Answer:
    request.tell({"measured": measured})
    return Answer(PASSED, measured["outcome"])


def _refused(request: Request, seen: Observation) -> dict[str, Any]:
    return {"outcome": "refused", **_evidence(request, seen), "class": seen.error_class}


def _differs(request: Request, seen: Observation) -> dict[str, Any]:
    return {"outcome": "differs", **_evidence(request, seen), "class": seen.error_class, "check": seen.details["check"]}


# What these say holds numbers that are others in every run; the truth keeps only what stays.
_UNSTEADY = {
    "baked": "a literal of the graph is another one in every export",
    "frozen": "eager gives another value at every call, the exported program always the same",
}


def _evidence(request: Request, seen: Observation) -> dict[str, Any]:
    text = _UNSTEADY.get(seen.details.get("check", ""), seen.first_line)
    return {"error": steady(short(text)), "line": _own_line(request, seen), "graph_break": seen.gb_id}


def _own_line(request: Request, seen: Observation) -> int | None:
    own = str(Path(request.loaded.target.path or "").resolve())
    lines = [frame.line for frame in seen.frames if os.path.realpath(frame.path) == own]
    return lines[-1] if lines else None


_PATH = re.compile(r"(?<![\w.:/])/[^\s\"':,]+/(?=[^/\s\"':,]+)")
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")
_LONG_NUMBER = re.compile(r"\b\d{12,}\b")


def steady(text: str) -> str:
    """The text without what changes from machine to machine: folders, addresses."""
    return _LONG_NUMBER.sub("…", _ADDRESS.sub("0x…", _PATH.sub("", text)))


def _first_difference(
    request: Request, exported: Exported, eager: tuple[Record, Record], twin: Any, plan: tuple[int, ...]
) -> Observation | None:
    # Before the program runs: it shares its buffers with the model. In a fork: the model's run is not to reach them.
    after = in_fork(lambda: record(request.loaded, exported.model, plan), request.folder)
    try:
        ours = literals(exported.program)
        program = exported.module()
        theirs = record(request.loaded, program, plan)
    except BaseException as exc:  # noqa: BLE001 - `ep.module()` itself may raise
        seen = of_exception(exc)
        return Observation.from_dict({**seen.to_dict(), "details": {"check": "raises"}})
    found = [*baked(ours, twin or {}), *differences(*eager, theirs)]
    if exported.model is not None and after.value is not None:
        found += eager_after(eager, after.value)
    return found[0] if found else None


def _then(exported: Exported) -> dict[str, Any]:
    if not exported.is_program:
        return {}
    steps = {"decompose": exported.program.run_decompositions, "save": lambda: _save_and_load(exported.program)}
    failed = {name: words for name, step in steps.items() if (words := _refusal(step))}
    return {"then": failed} if failed else {}


def _refusal(step: Callable[[], Any]) -> str | None:
    try:
        step()
    except BaseException as exc:  # noqa: BLE001 - as for export
        return f"refused: {steady(short(str(exc) or type(exc).__name__))}"
    return None


def _save_and_load(program: Any) -> None:
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    torch.export.load(buffer)
