"""Compile a model, and note what Dynamo does while it is called: breaks, graphs and recompilations, in their order.

All of it comes from Dynamo's structured trace and from the graphs that it gives to a backend. `torch._dynamo.explain`
lists part of the breaks only, says nothing of a second call, and its counters know no lines.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import sys
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import dynamo
from exportlint.trial.child.torch_private.operators import TorchDispatchMode
from exportlint.trial.protocol.frames import (
    Frame,
    frame_at,
    innermost_user,
    innermost_user_frame,
    is_user_path,
    message_frames,
    summary_frames,
)
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.torch_messages import (
    LEFT_WITHOUT_REASON,
    SKIPPED_FRAME,
    FailedGuard,
    break_kind,
    failed_guard,
    graph_break_id,
    is_over_recompile_limit,
    logged_break,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.child.execution.inputs.input_sets import Inputs


@dataclass(frozen=True)
class MetBreak:
    """One break, as Dynamo meets it. `frames` go from the outermost call inwards."""

    reason: str
    kind: str
    frames: tuple[Frame, ...]

    def observed(self) -> Observation:
        """As a stage tells it."""
        gb_id = graph_break_id(self.reason)
        return Observation("graph-break", self.reason[:5000], gb_id=gb_id, details={"kind": self.kind}).at(self.frames)


@dataclass
class MetGraph:
    """One graph that was compiled.

    operators   how many calls it has
    frames      where its first operator stands
    inputs      how many values it is given, parameters included; `outputs`: how many it gives
    seconds     what its calls took, where they were timed
    """

    operators: int
    frames: tuple[Frame, ...]
    inputs: int
    outputs: int
    seconds: float = 0.0


@dataclass(frozen=True)
class Recompilation:
    """A function that is compiled again. `function` tells it from others; `guards` failed, one for each time that it
    was compiled before, the latest first; `place` is where it begins; `over_limit`: it was compiled too often, and runs
    in Python from now on."""

    function: str
    guards: tuple[FailedGuard, ...]
    place: tuple[Frame, ...] = ()
    over_limit: bool = False


@dataclass(frozen=True)
class Specialization:
    """A size or number of the inputs, `source` as torch names it, of which the code makes a constant."""

    source: str
    frames: tuple[Frame, ...]


@dataclass
class CompileRecord:
    """What Dynamo did, in lists that grow while calls are made inside of `watching()`. `order` says in which order
    breaks and graphs came: ("graph", index) or ("break", index)."""

    breaks: list[MetBreak] = field(default_factory=list)
    graphs: list[MetGraph] = field(default_factory=list)
    recompilations: list[Recompilation] = field(default_factory=list)
    specializations: list[Specialization] = field(default_factory=list)
    order: list[tuple[str, int]] = field(default_factory=list)
    on_break: Callable[[MetBreak], None] | None = None
    without_graph: list[tuple[Frame, ...]] = field(default_factory=list)  # functions of which nothing was compiled
    _frame: str = ""  # that Dynamo is compiling
    _frame_of_break: str = ""  # that it was compiling when it met the last break

    def compiled(self, model: Any, **options: Any) -> Any:
        """The model, compiled afresh by Dynamo alone: its graphs are run as they are, so that all that differs from
        eager is Dynamo's doing. `options` are torch.compile's."""
        dynamo.reset()
        return torch.compile(model, **{**options, "backend": self._backend})

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Note what Dynamo does inside of the block."""
        with dynamo.structured_trace(self._note):
            yield

    def _backend(self, graph: torch.fx.GraphModule, _inputs: Any) -> Callable[..., Any]:
        met = _described(graph)
        if (why := getattr(graph, "compile_subgraph_reason", None)) is not None and why.graph_break:
            self._add_unless_known(str(why.reason), summary_frames(why.user_stack))
        self.order.insert(self._before_its_break(), ("graph", len(self.graphs)))
        self.graphs.append(met)
        forward = graph.forward

        def timed(*args: Any) -> Any:
            began = time.perf_counter()
            try:
                return forward(*args)
            finally:
                met.seconds += time.perf_counter() - began

        return timed

    def _before_its_break(self) -> int:
        """Where a graph stands in the order: it is compiled when the break at its end has been met."""
        ends = self.order and self.order[-1][0] == "break" and self._frame_of_break == self._frame
        return len(self.order) - 1 if ends else len(self.order)

    def _note(self, entry: dynamo.TraceEntry) -> None:
        self._frame = entry.compile_id or self._frame
        match entry.name:
            case "dynamo_graph_break_reason":
                reason, frames = logged_break(entry.payload) or (entry.payload.strip(), ())
                self._add(MetBreak(reason, break_kind(reason), _with_users_call(frames)))
            case "recompile_reasons":
                guards = tuple(map(_placed, map(failed_guard, _reasons(entry.payload))))
                self.recompilations.append(Recompilation(_function(entry), guards))
            case "symbolic_shape_specialization":
                stack = dynamo.trace_frames(entry.data.get("user_stack"))
                self.specializations += [Specialization(str(one), stack) for one in entry.data.get("sources", ())]
            case "compilation_metrics" if entry.data:
                self._end_of_compilation(_function(entry), entry.data)

    def _end_of_compilation(self, function: str, data: Mapping[str, Any]) -> None:
        """What was compiled, and whether that was once too often."""
        if data.get("graph_op_count") is None:
            self.without_graph.append(_function_frame(data))
        over = is_over_recompile_limit(str(data.get("fail_reason")))
        for index in reversed(range(len(self.recompilations))):
            known = self.recompilations[index]
            if known.function == function:
                found = replace(known, place=_function_frame(data), over_limit=known.over_limit or over)
                self.recompilations[index] = found
                return

    def tell_if_left(self, compiled: Any, inputs: Inputs) -> None:
        """Where Dynamo made no graph and told of no break, and a call of what it compiled runs operators: those run in
        Python. Told as a break of the first function that it gave up, or of `forward`, where it looked at none."""
        if self.graphs or self.breaks or not _runs_operators(compiled, inputs):
            return
        model = dynamo.uncompiled(compiled)
        code = getattr(inspect.unwrap(getattr(model, "forward", model)), "__code__", None)
        whole = (frame_at(code.co_filename, code.co_firstlineno, code.co_name),) if code else ()
        self._add(MetBreak(LEFT_WITHOUT_REASON, SKIPPED_FRAME, next(filter(None, self.without_graph), whole)))

    def _add(self, met: MetBreak) -> None:
        self._frame_of_break = self._frame
        self.order.append(("break", len(self.breaks)))
        self.breaks.append(met)
        if self.on_break:
            self.on_break(met)

    def _add_unless_known(self, reason: str, frames: tuple[Frame, ...]) -> None:
        """What a graph says of its end, where the trace had no entry for it."""
        known = {one.frames[-1][:2] for one in self.breaks if one.frames}
        if frames and frames[-1][:2] not in known:
            self._add(MetBreak(reason, break_kind(reason), frames))


def _runs_operators(compiled: Any, inputs: Inputs) -> bool:
    """Does a call run any? A model that only hands on what it is given has nothing to compile."""
    args, kwargs = inputs
    seed(0)
    try:
        with _CountedOperators() as operators:
            compiled(*args, **kwargs)
    except Exception:  # noqa: BLE001 - the mode may be what a model does not take
        return False
    return bool(operators.number)


class _CountedOperators(TorchDispatchMode):  # type: ignore[misc]  # torch leaves it untyped
    number = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.number += 1
        return func(*args, **(kwargs or {}))


def _with_users_call(frames: tuple[Frame, ...]) -> tuple[Frame, ...]:
    """Of a break in a library's function, which Dynamo compiles for itself, the user's call of that too; some versions
    leave it out."""
    if innermost_user(frames) or (call := innermost_user_frame(sys._getframe())) is None:  # noqa: SLF001 - the documented way
        return frames
    return (frame_at(call.f_code.co_filename, call.f_lineno, call.f_code.co_name), *frames)


def _function(entry: dynamo.TraceEntry) -> str:
    return (entry.compile_id or "").partition("/")[0]


_RESUMES_AT = re.compile(r"_resume_in_(?P<function>\w+?)_at_(?P<line>\d+)")  # a function that goes on after a break


def _function_frame(data: Mapping[str, Any]) -> tuple[Frame, ...]:
    """Where what was compiled begins; empty where that is no code of the model's."""
    name, path, line = str(data.get("co_name")), str(data.get("co_filename")), int(data.get("co_firstlineno") or 0)
    if resumed := _RESUMES_AT.search(name):
        name, line = resumed["function"], int(resumed["line"])
    return (frame_at(path, line, name),) if is_user_path(path) and line else ()


def _reasons(payload: str) -> list[str]:
    """One for each time that the function was compiled before: a text, or several as a list."""
    with contextlib.suppress(ValueError):
        found = json.loads(payload)
        if isinstance(found, list):
            return [str(one) for one in found]
    return [payload]


def _described(graph: torch.fx.GraphModule) -> MetGraph:
    nodes = list(graph.graph.nodes)
    calls = [node for node in nodes if node.op.startswith("call_")]
    traces = (node.meta.get("stack_trace") for node in calls)
    frames = message_frames(next((trace for trace in traces if trace), ""))
    given = next((node.args[0] for node in nodes if node.op == "output"), ())
    outputs = len(given) if isinstance(given, (tuple, list)) else 1
    return MetGraph(len(calls), frames, sum(node.op == "placeholder" for node in nodes), outputs)


def _placed(guard: FailedGuard) -> FailedGuard:
    """With frames also where torch names the line only behind the end of a path."""
    if guard.frames or not guard.path:
        return guard
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None) or ""
        if path.endswith(guard.path) and is_user_path(path):
            return guard._replace(frames=(frame_at(path, guard.line, guard.function),))
    return guard


def own_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Of the options that a script gave to its own call of torch.compile, what decides which sizes are symbols; not
    `fullgraph`, with which nothing behind the first break would be seen."""
    return {} if options.get("dynamic") is None else {"dynamic": options["dynamic"]}
