"""What every lowering does with its backend: compile, load, run twice, compare with eager."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import torch
from torch.export.graph_signature import TensorArgument

from exportlint.trial.child.execution.pytree_leaves import Leaves, snapshot
from exportlint.trial.child.loading.loaded import copied
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.protocol.exceptions import of_exception
from exportlint.trial.protocol.frames import message_frames
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import DIFFERS, PASSED, REFUSED, SKIPPED
from exportlint.trial.protocol.shortening import short

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


CALLS = 2  # the second call shows state
CallLowered = Callable[[tuple[Any, ...], dict[str, Any]], Any]
Tolerance = dict[torch.dtype, tuple[float, float]]

# Relative and absolute. Compiled kernels add up in another order, so this is wider than for an exported program.
COMPILED: Tolerance = {
    torch.float64: (1e-7, 1e-7),
    torch.float32: (1e-3, 1e-4),
    torch.float16: (1e-2, 1e-2),
    torch.bfloat16: (2e-2, 2e-2),
}
_MOST = 60  # characters of a value that is no tensor


@dataclass(frozen=True)
class Lowered:
    """A lowering's answer.

    status        passed, refused, differs or skipped
    detail        one line; None where the observation says it
    observations  what failed, at the line of the model that it is about
    data          JSON: "step" is the step that failed (compile, load, run, compare), "bytes" the size of the artefact
    """

    status: str
    detail: str | None
    observations: tuple[Observation, ...] = ()
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reason:
    """What an exception of a backend means: one line, and the operators that it is about, if it does not name them."""

    text: str
    operators: tuple[str, ...] = ()


class Backend(Protocol):
    """One deployment target."""

    tolerance: Tolerance

    def compile(self, program: torch.export.ExportedProgram, folder: Path) -> Path:
        """Write the artefact."""

    def load(self, artefact: Path) -> CallLowered:
        """The loaded program: called with args and kwargs it gives what the model gives."""

    def explain(self, exc: BaseException) -> Reason:
        """What an exception of the backend means."""


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
        theirs = _results(call, args, kwargs)
    except Exception as exc:  # noqa: BLE001 - backends raise anything
        return _refused(program, backend, exc, step, data)
    ours, other = (_results(_eager(build_model()), args, kwargs, first) for first in (0, 50))
    size = f"{data['bytes']:,} bytes, run {CALLS} times"
    if _first_difference(ours, other, {}) is not None:
        # Random by design: only what does not depend on the draw can be held against it.
        ours, theirs = _shapes(ours), _shapes(theirs)
        size += "; eager gives other values in every run, so only shapes were compared"
    found = _first_difference(ours, theirs, backend.tolerance)
    if found is None:
        return Lowered(PASSED, size, data=data)
    return _differs(program, found, data)


def _eager(model: Any) -> CallLowered:
    return lambda args, kwargs: model(*args, **kwargs)


def _results(call: CallLowered, args: tuple[Any, ...], kwargs: dict[str, Any], first: int = 0) -> list[Leaves]:
    """The leaves of the output, then of the inputs as the call left them, for every call."""
    results = []
    for number in range(CALLS):
        given, named = copied((args, kwargs))
        seed(first + number)
        with torch.no_grad():
            output = snapshot(call(given, named))
        results.append([*output, *((f"input {path}", leaf) for path, leaf in snapshot((given, named)))])
    return results


def _shapes(results: list[Leaves]) -> list[Leaves]:
    return [[(path, _shape(leaf)) for path, leaf in row] for row in results]


def _shape(leaf: Any) -> str:
    return f"{leaf.dtype} {tuple(leaf.shape)}" if isinstance(leaf, torch.Tensor) else type(leaf).__name__


@dataclass(frozen=True)
class _Mismatch:
    """The first value that is not the same: in which call, where, how (fields of an observation), and which tensor."""

    call: int
    path: str
    fields: Mapping[str, Any]
    tensor: int


def _first_difference(ours: list[Leaves], theirs: list[Leaves], tolerance: Tolerance) -> _Mismatch | None:
    """An empty tolerance compares exactly."""
    for call, (row, other) in enumerate(zip(ours, theirs, strict=True)):
        if [path for path, _ in row] != [path for path, _ in other]:
            missing = sorted({path for path, _ in row} ^ {path for path, _ in other})
            return _Mismatch(call, missing[0] if missing else "", {"what": "structure"}, 0)
        tensors = 0
        for (path, a), (_, b) in zip(row, other, strict=True):
            if fields := _unequal(a, b, tolerance):
                return _Mismatch(call, path, fields, tensors)
            tensors += isinstance(a, torch.Tensor)
    return None


def _unequal(ours: Any, theirs: Any, tolerance: Tolerance) -> dict[str, Any] | None:
    if isinstance(ours, (bool, int, float)) and isinstance(theirs, torch.Tensor) and theirs.numel() == 1:
        theirs = theirs.item()  # outside of Python a number is a tensor without dimensions
    if not isinstance(ours, torch.Tensor) or not isinstance(theirs, torch.Tensor):
        same = type(ours) is type(theirs) and (ours == theirs or (ours != ours and theirs != theirs))  # noqa: PLR0124 - nan
        return None if same else _values(short(repr(ours))[:_MOST], short(repr(theirs))[:_MOST])
    rtol, atol = tolerance.get(ours.dtype, (0.0, 0.0))
    try:
        torch.testing.assert_close(theirs, ours, rtol=rtol, atol=atol, equal_nan=True)
    except AssertionError as exc:
        return _how_far(str(exc), ours, theirs)
    return None


def _values(ours: str, theirs: str) -> dict[str, Any]:
    return {"what": "value", "ours": ours, "theirs": theirs}


_GREATEST = re.compile(r"Greatest absolute difference: (\S+)")


def _how_far(torch_says: str, ours: torch.Tensor, theirs: torch.Tensor) -> dict[str, Any]:
    if ours.numel() == 1 and theirs.numel() == 1 and ours.shape == theirs.shape:
        return _values(f"{ours.item():.6g}", f"{theirs.item():.6g}")
    if found := _GREATEST.search(torch_says):
        return {"what": "values", "max_error": float(found[1])}
    return {"what": short(torch_says)}


def _differs(program: torch.export.ExportedProgram, found: _Mismatch, data: dict[str, Any]) -> Lowered:
    check = "input-effect" if found.path.startswith("input ") else "state" if found.call else "output"
    where = {"input_set": 0, "call": found.call, "output": found.path, "step": "compare"}
    frames = () if check == "input-effect" else message_frames(_trace_of_output(program, found.tensor))
    seen = Observation("difference", details={"check": check, **where, **found.fields}).at(frames)
    return Lowered(DIFFERS, None, (seen,), {**data, "step": "compare"})


def _trace_of_output(program: torch.export.ExportedProgram, tensor: int) -> str:
    """Where the model computes the output; a mutated buffer's value is the state that a second call shows."""
    outputs = [
        spec.arg.name
        for spec in program.graph_signature.output_specs
        if spec.kind.name == "USER_OUTPUT" and isinstance(spec.arg, TensorArgument)
    ]
    wanted = outputs[tensor] if tensor < len(outputs) else None
    return next((n.meta.get("stack_trace") or "" for n in program.graph.nodes if n.name == wanted), "")


def _refused(
    program: torch.export.ExportedProgram, backend: Backend, exc: BaseException, step: str, data: dict[str, Any]
) -> Lowered:
    reason = backend.explain(exc)
    summary = f"{step}: {reason.text}"
    seen = of_exception(exc, step=step, summary=summary)
    if seen.user is None:
        words = " ".join((seen.text, str(seen.error_class), *reason.operators))
        frames = message_frames(_trace_of_named(program, words))
        seen = seen.at(frames) if frames else seen
    return Lowered(REFUSED, short(summary), (seen,), {**data, "step": step})


_OPERATOR = re.compile(r"\b([a-z_]\w*)(?:::|\.)(\w+)")


def _trace_of_named(program: torch.export.ExportedProgram, text: str) -> str:
    """The stack trace of the first node whose operator the text names: `aten::cumsum` or `aten.cumsum.default`."""
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
