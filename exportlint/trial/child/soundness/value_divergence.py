"""Find the first operation of eager whose result an exported program does not have.

Both run on the same inputs. Torch functions of eager and nodes of the program are not one to one, so that results are
put side by side by value: whatever eager computes on the way to its outputs, the program must have somewhere.
"""

from __future__ import annotations

import ast
import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode

from exportlint.trial.child.execution.comparison import compare
from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.execution.inputs.pytree_leaves import snapshot
from exportlint.trial.child.export.error_tolerant import swallowed_refusal
from exportlint.trial.child.loading.edited_files import source_of
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.server.forks import in_fork
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.child.torch_private.operators import schema_of
from exportlint.trial.protocol.frames import Frame, frame_at, is_user_path, message_frames, summary_frames
from exportlint.trial.protocol.outcomes import NON_STRICT

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Set as AbstractSet

    from exportlint.trial.child.execution.request import StageRequest
    from exportlint.trial.child.loading.loaded import Loaded
    from exportlint.trial.protocol.observation import Observation


# Of a large model not every result can be kept; what comes after is not looked at.
_MOST_BYTES = 512 << 20
_SEED = 100


def at_divergence(request: StageRequest, seen: Observation, module: Callable[[], Any], mode: str) -> Observation:
    """A difference of the outputs, placed where eager and the program, which `module` gives, diverge."""
    if seen.user or seen.check != "output" or seen.details.get("call"):
        return seen
    found = in_fork(lambda: _caught(request.loaded), request.folder).value if mode == NON_STRICT else None
    input_set = seen.details["input_set"]
    found = found or in_fork(lambda: _divergence(request.loaded, module(), input_set), request.folder).value
    if found is None:
        return seen
    why, frames = found
    return seen.with_details(divergence=why).at(frames)


# Why the two diverge, as fields of an observation, and where.
_Found = tuple[dict[str, Any], tuple[Frame, ...]]


def _caught(loaded: Loaded) -> _Found | None:
    """The `except` of the model that caught one of torch's refusals."""
    if loaded.export or (refusal := swallowed_refusal(loaded)) is None:
        return None
    frames = [frame for frame in refusal.frames if is_user_path(frame.path)]
    for depth in range(len(frames), 0, -1):
        if handler := catching_handler(frames[depth - 1]):
            why = {"why": "caught", "line": refusal.user_line, "torch_says": refusal.first_line}
            return why, (*frames[: depth - 1], handler)
    return None


def _divergence(loaded: Loaded, program: Any, input_set: int) -> _Found | None:
    if not isinstance(program, torch.fx.GraphModule):
        return None
    has = _ProgramValues(program).of(*inputs_of(loaded, input_set), input_set)
    steps = _eager_steps(loaded, input_set)
    missing = next((step for step in steps if not has.holds(step.result)), None)
    if missing is None:
        return None
    frames = [frame for frame in missing.frames if is_user_path(frame.path)]
    traced = {(f.path, f.line) for n in program.graph.nodes for f in message_frames(n.meta.get("stack_trace") or "")}
    if frames and (branch := diverging_branch(frames[-1], traced)):
        return {"why": "branch"}, (*frames[:-1], branch)
    why: dict[str, Any] = {"why": "operation", "name": missing.name}
    if frames and len(missing.numbers) == 1:
        alike = [step for step in steps if (step.name, step.frames[-1:]) == (missing.name, missing.frames[-1:])]
        held = _numbers_held(program, missing.name, frames[-1])
        theirs = held[alike.index(missing)] if len(held) == len(alike) else []
        if len(theirs) == 1 and theirs != missing.numbers:
            why |= {"ours": missing.numbers[0], "theirs": theirs[0]}
    return why, missing.frames


def _numbers_held(program: torch.fx.GraphModule, name: str, at: Frame) -> list[list[float]]:
    """The numbers that the program holds for each such operation of a line."""
    return [
        _numbers(node.args, node.kwargs)
        for node in program.graph.nodes
        if schema_of(node.target) is not None
        and str(node.target).split(".")[1:2] == [name.strip("_")]
        and (at.path, at.line) in {(one.path, one.line) for one in message_frames(node.meta.get("stack_trace") or "")}
    ]


def _numbers(args: Any, kwargs: Any) -> list[float]:
    return [one for one in pytree.tree_leaves((args, kwargs or {})) if type(one) in (int, float)]


class _ProgramValues(torch.fx.Interpreter):  # type: ignore[misc]  # torch leaves it untyped
    """Every result that a program computes."""

    def __init__(self, program: Any) -> None:
        super().__init__(program)
        self._results: dict[Any, list[Any]] = {}

    def of(self, args: Any, kwargs: Any, input_set: int) -> _ProgramValues:
        seed(_SEED + input_set)
        self.run(*args, *kwargs.values())
        self._add((args, kwargs))
        return self

    def run_node(self, node: Any) -> Any:
        result = super().run_node(node)
        self._add(result)
        schema = schema_of(node.target)
        if schema is not None and schema.is_mutable:  # what shares the memory that was written is another value now
            written = {_memory(leaf) for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)}
            live = [value for value in self.env.values() if isinstance(value, torch.Tensor)]
            self._add([value for value in live if _memory(value) in written])
        return result

    def _add(self, result: Any) -> None:
        for leaf in pytree.tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._results.setdefault((leaf.shape, leaf.dtype), []).append(snapshot(leaf))

    def holds(self, result: torch.Tensor) -> bool:
        ours = snapshot(result)
        return any(compare(ours, theirs) is None for theirs in self._results.get((result.shape, result.dtype), ()))


@dataclass(frozen=True, eq=False)
class _EagerStep:
    """A call of a torch function: its result as it was then, the numbers it is given, and the memory that it reads and
    writes."""

    name: str
    numbers: list[float]
    result: torch.Tensor
    reads: frozenset[int]
    writes: frozenset[int]
    frames: tuple[Frame, ...]


def _eager_steps(loaded: Loaded, input_set: int) -> list[_EagerStep]:
    """What eager computes on the way to its outputs, in its order."""
    model = loaded.eager()
    args, kwargs = inputs_of(loaded, input_set)
    seed(_SEED + input_set)
    with _Recorder() as recorder:
        output = model(*args, **kwargs)
    needed = {_memory(leaf) for leaf in pytree.tree_leaves((output, args, kwargs)) if isinstance(leaf, torch.Tensor)}
    found = []
    for step in reversed(recorder.steps):
        if step.writes & needed:
            needed |= step.reads
            found.append(step)
    return found[::-1]


class _Recorder(TorchFunctionMode):  # type: ignore[misc]  # torch leaves it untyped
    def __init__(self) -> None:
        super().__init__()
        self.steps: list[_EagerStep] = []
        self._held: list[Any] = []  # memory that is given back is soon another tensor's
        self._bytes = 0

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        made = [leaf for leaf in pytree.tree_leaves(found) if isinstance(leaf, torch.Tensor)]
        name = getattr(func, "__name__", "")
        written = given[:1] if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) else []
        if self._bytes < _MOST_BYTES and name != "__get__":
            self._note(name, _numbers(args, kwargs), [*written, *made], given)
        self._held.append((found, given))
        return found

    def _note(self, name: str, numbers: list[float], results: list[torch.Tensor], given: list[torch.Tensor]) -> None:
        reads = frozenset(map(_memory, given))
        for result in results:
            self._bytes += result.numel() * result.element_size()
            frames = summary_frames(traceback.extract_stack(sys._getframe(2)))  # noqa: SLF001 - the documented way
            written = frozenset([_memory(result)])
            self.steps.append(_EagerStep(name, numbers, result.detach().clone(), reads, written, frames))


def _memory(tensor: torch.Tensor) -> int:
    """The same for a tensor and its views."""
    try:
        return tensor.untyped_storage().data_ptr() or id(tensor)
    except Exception:  # noqa: BLE001 - exotic tensors have none
        return id(tensor)


# Find the `if` or `except` at which eager and the trace diverge.


def diverging_branch(frame: Frame, traced: AbstractSet[tuple[str, int]]) -> Frame | None:
    """The `if` around a place that eager reached of which the trace took the other branch; or an `except`.

    An `except` counts where only one of the two entered it. None where there is no such statement.
    """
    lines = {line for path, line in traced if path == frame.path}
    found = (_parting_line(statement, frame.line, lines) for statement in _around(frame))
    line = next((line for line in found if line), None)
    return frame_at(frame.path, line, frame.function) if line else None


def catching_handler(frame: Frame) -> Frame | None:
    """The `except` of the innermost try whose body holds the line."""
    for statement in reversed(_around(frame)):
        if isinstance(statement, ast.Try) and statement.handlers and frame.line in _lines(statement.body):
            return frame_at(frame.path, statement.handlers[0].lineno, frame.function)
    return None


def _parting_line(statement: ast.stmt, eager: int, traced: set[int]) -> int | None:
    """The line of the statement, if the two diverge there."""
    if isinstance(statement, ast.If):
        taken, other = _lines(statement.body), _lines(statement.orelse)
        if eager in other:
            taken, other = other, taken
        return statement.lineno if eager in taken and not traced & set(taken) and traced & set(other) else None
    for handler in getattr(statement, "handlers", ()):
        here = _lines(handler.body)
        if (eager in here) != bool(traced & set(here)):
            return int(handler.lineno)
    return None


def _around(frame: Frame) -> list[ast.stmt]:
    """The statements with branches that hold the line, the outermost first."""
    try:
        tree = ast.parse(source_of(frame.path))
    except (OSError, SyntaxError, ValueError):
        return []
    holding = (n for n in ast.walk(tree) if isinstance(n, (ast.If, ast.Try)) and frame.line in _lines([n]))
    return sorted(holding, key=lambda node: node.lineno)


def _lines(body: list[ast.stmt]) -> range:
    return range(body[0].lineno, (body[-1].end_lineno or body[-1].lineno) + 1) if body else range(0)
