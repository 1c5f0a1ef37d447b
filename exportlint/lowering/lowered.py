"""What every lowering does with its backend: compile, load, run twice, compare with eager. Runs in the child."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.export.graph_signature import TensorArgument

from exportlint.trial.loading import copied
from exportlint.trial.observation import Observation, message_frames, of_exception, placed
from exportlint.trial.stage import DIFFERS, PASSED, REFUSED, SKIPPED, short
from exportlint.trial.values import Leaves, seed, snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

CALLS = 2  # the second call shows state
Call = Callable[[tuple[Any, ...], dict[str, Any]], Any]
Tolerance = dict[torch.dtype, tuple[float, float]]

# Relative and absolute. Compiled kernels add up in another order, so this is wider than for an exported program.
COMPILED: Tolerance = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1e-3, 1e-4),
    torch.float16: (1e-2, 1e-2),
    torch.bfloat16: (2e-2, 2e-2),
}


@dataclass(frozen=True)
class Lowered:
    """A lowering's answer. `status` is passed, refused, differs or skipped; `detail` is one line.

    `data` is JSON: "step" is the step that failed (compile, load, run, compare), "bytes" the size of the artefact.
    """

    status: str
    detail: str
    observations: tuple[Observation, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


class Backend(Protocol):
    """One deployment target."""

    tolerance: Tolerance

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """Write the artefact."""

    def load(self, artefact: Path) -> Call:
        """The loaded program: called with args and kwargs it gives what the model gives."""

    def explain(self, exc: BaseException) -> str:
        """One line that says what an exception of the backend means."""


def skipped(why: str) -> Lowered:
    """The backend cannot run here; never to be taken for a pass."""
    return Lowered(SKIPPED, why)


def lower_with(
    backend: Backend,
    program: torch.export.ExportedProgram,
    build_model: Callable[[], Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    workdir: Path,
) -> Lowered:
    """All four steps. What the backend raises is an answer, at the line of the model that it is about."""
    step, data = "compile", {}
    try:
        artefact = backend.compile(program, workdir)
        data["bytes"] = artefact.stat().st_size
        step = "load"
        call = backend.load(artefact)
        step = "run"
        theirs = _calls(call, args, kwargs)
    except Exception as exc:  # noqa: BLE001 - backends raise anything
        return _refused(program, backend, exc, step, data)
    ours, other = (_calls(_eager(build_model()), args, kwargs, first) for first in (0, 50))
    size = f"{data['bytes']:,} bytes, run {CALLS} times"
    if _parting(ours, other, {}) is not None:
        # Random by design: only what does not depend on the draw can be held against it.
        ours, theirs = _shapes(ours), _shapes(theirs)
        size += "; eager gives other values in every run, so only shapes were compared"
    found = _parting(ours, theirs, backend.tolerance)
    if found is None:
        return Lowered(PASSED, size, data=data)
    return _differs(program, found, data)


def _eager(model: Any) -> Call:
    return lambda args, kwargs: model(*args, **kwargs)


def _calls(call: Call, args: tuple[Any, ...], kwargs: dict[str, Any], first: int = 0) -> list[Leaves]:
    """The leaves of the output, then of the inputs as the call left them, for every call."""
    rows = []
    for number in range(CALLS):
        given, named = copied((args, kwargs))
        seed(first + number)
        with torch.no_grad():
            output = snapshot(call(given, named))
        rows.append([*output, *((f"input {path}", leaf) for path, leaf in snapshot((given, named)))])
    return rows


def _shapes(rows: list[Leaves]) -> list[Leaves]:
    return [[(path, _shape(leaf)) for path, leaf in row] for row in rows]


def _shape(leaf: Any) -> str:
    return f"{leaf.dtype} {tuple(leaf.shape)}" if isinstance(leaf, torch.Tensor) else type(leaf).__name__


@dataclass(frozen=True)
class _Parting:
    call: int
    path: str
    text: str
    leaf: int


def _parting(ours: list[Leaves], theirs: list[Leaves], tolerance: Tolerance) -> _Parting | None:
    """The first value that is not the same; an empty tolerance compares exactly."""
    for call, (row, other) in enumerate(zip(ours, theirs, strict=True)):
        if [path for path, _ in row] != [path for path, _ in other]:
            missing = sorted({path for path, _ in row} ^ {path for path, _ in other})
            return _Parting(call, missing[0] if missing else "", "the structure of the output is another", 0)
        tensors = 0
        for (path, a), (_, b) in zip(row, other, strict=True):
            if said := _unequal(a, b, tolerance):
                return _Parting(call, path, said, tensors)
            tensors += isinstance(a, torch.Tensor)
    return None


def _unequal(ours: Any, theirs: Any, tolerance: Tolerance) -> str | None:
    if isinstance(ours, (bool, int, float)) and isinstance(theirs, torch.Tensor) and theirs.numel() == 1:
        theirs = theirs.item()  # outside of Python a number is a tensor without dimensions
    if not isinstance(ours, torch.Tensor) or not isinstance(theirs, torch.Tensor):
        same = type(ours) is type(theirs) and (ours == theirs or (ours != ours and theirs != theirs))  # noqa: PLR0124 - nan
        return None if same else f"eager gives {short(repr(ours))[:60]}, the lowered program {short(repr(theirs))[:60]}"
    rtol, atol = tolerance.get(ours.dtype, (0.0, 0.0))
    try:
        torch.testing.assert_close(theirs, ours, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as exc:
        return _in_short(str(exc), ours, theirs)
    return None


_GREATEST = re.compile(r"Greatest absolute difference: (\S+)")


def _in_short(said: str, ours: torch.Tensor, theirs: torch.Tensor) -> str:
    if ours.numel() == 1 and theirs.numel() == 1 and ours.shape == theirs.shape:
        return f"eager gives {ours.item():.6g}, the lowered program {theirs.item():.6g}"
    if found := _GREATEST.search(said):
        return f"values differ by up to {float(found[1]):.4g}"
    return short(said)


def _differs(program: torch.export.ExportedProgram, found: _Parting, data: dict[str, Any]) -> Lowered:
    which = "the first call" if found.call == 0 else "the second call, after an equal first one"
    where = found.path or "the output"
    text = f"compare: {where} of {which}: {found.text}"
    check = "input-effect" if found.path.startswith("input ") else "state" if found.call else "output"
    details = {"check": check, "draw": 0, "call": found.call, "output": found.path, "step": "compare"}
    frames = () if check == "input-effect" else message_frames(_trace_of_output(program, found.leaf))
    seen = placed("difference", text, frames, details=details)
    return Lowered(DIFFERS, short(text), (seen,), {**data, "step": "compare"})


def _trace_of_output(program: torch.export.ExportedProgram, leaf: int) -> str:
    """Where the model computes the output; a mutated buffer's value is the state that a second call shows."""
    outputs = [
        spec.arg.name
        for spec in program.graph_signature.output_specs
        if spec.kind.name == "USER_OUTPUT" and isinstance(spec.arg, TensorArgument)
    ]
    wanted = outputs[leaf] if leaf < len(outputs) else None
    return next((n.meta.get("stack_trace") or "" for n in program.graph.nodes if n.name == wanted), "")


def _refused(
    program: torch.export.ExportedProgram, backend: Backend, exc: BaseException, step: str, data: dict[str, Any]
) -> Lowered:
    seen = of_exception(exc, step=step)
    text = f"{step}: {backend.explain(exc)}"
    seen = replace(seen, details={**seen.details, "summary": text})
    if seen.user_path is None:
        frames = message_frames(_trace_of_named(program, text + seen.text))
        if frames:
            seen = placed(
                seen.kind, seen.text, frames, error_class=seen.error_class, gb_id=seen.gb_id, details=seen.details
            )
    return Lowered(REFUSED, short(text), (seen,), {**data, "step": step})


_OPERATOR = re.compile(r"\b([a-z_]\w*)(?:::|\.)(\w+)")


def _trace_of_named(program: torch.export.ExportedProgram, text: str) -> str:
    """The stack trace of the first node whose operator the message names: `aten::cumsum` or `aten.cumsum.default`."""
    named = {f"{space}::{operator}" for space, operator in _OPERATOR.findall(text)}
    return next((trace for graph in _graphs(program) if (trace := _trace_of_operator(graph, named))), "")


def _graphs(program: torch.export.ExportedProgram) -> Iterator[torch.fx.Graph]:
    yield program.graph
    with contextlib.suppress(Exception):  # the backend failed for a reason, and this may be it
        yield program.run_decompositions().graph


def _trace_of_operator(graph: torch.fx.Graph, named: set[str]) -> str:
    for node in graph.nodes:
        schema = getattr(getattr(node.target, "_schema", None), "name", None)
        if schema in named and node.meta.get("stack_trace"):
            return str(node.meta["stack_trace"])
    return ""
