"""Where an exported program and eager part: the first operation of eager whose result the program does not have.

Both run on the same inputs. Torch functions of eager and nodes of the program are not one to one, so that results are
put side by side by value: whatever eager computes on the way to its outputs, the program must have somewhere.
"""

from __future__ import annotations

import sys
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from exportlint.trial.calls import inputs_of
from exportlint.trial.isolate import in_fork
from exportlint.trial.observation import Frame, Observation, is_user_path, message_frames, placed, summary_frames
from exportlint.trial.onward import swallowed
from exportlint.trial.values import compare, seed, snapshot
from exportlint.trial.ways import catching, other_way

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.trial.loading import Loaded
    from exportlint.trial.stage import Request

# Of a large model not every result can be kept; what comes after is not looked at.
_MOST_BYTES = 512 << 20
_SEED = 100


def at_parting(request: Request, seen: Observation, module: Callable[[], Any], mode: str) -> Observation:
    """A difference of the outputs, placed where the program, which `module` gives, and eager part."""
    if seen.user_path or seen.details.get("check") != "output" or seen.details.get("call"):
        return seen
    found = in_fork(lambda: _caught(request.loaded), request.folder).value if mode == "non-strict" else None
    found = found or in_fork(lambda: _parting(request.loaded, module(), seen.details["draw"]), request.folder).value
    if found is None:
        return seen
    text, frames = found
    return placed(seen.kind, f"{seen.text}; {text}", frames, error_class=seen.error_class, details=seen.details)


Place = tuple[str, tuple[Frame, ...]]


def _caught(loaded: Loaded) -> Place | None:
    if loaded.export or (refusal := swallowed(loaded)) is None:
        return None
    frames = [frame for frame in refusal.frames if is_user_path(frame.path)]
    text = f"this caught torch's refusal to trace line {refusal.user_line}: {refusal.first_line}"
    for depth in range(len(frames), 0, -1):
        if handler := catching(frames[depth - 1]):
            return text, (*frames[: depth - 1], handler)
    return None


def _parting(loaded: Loaded, program: Any, draw: int) -> Place | None:
    if not isinstance(program, torch.fx.GraphModule):
        return None
    has = _Values(program).of(*inputs_of(loaded, draw), draw)
    missing = next((step for step in _steps(loaded, draw) if not has.holds(step.result)), None)
    if missing is None:
        return None
    frames = [frame for frame in missing.frames if is_user_path(frame.path)]
    traced = {(f.path, f.line) for n in program.graph.nodes for f in message_frames(n.meta.get("stack_trace") or "")}
    if frames and (fork := other_way(frames[-1], traced)):
        return "eager and the trace part here", (*frames[:-1], fork)
    return f"`{missing.name}` is the first operation whose result the program does not have", missing.frames


class _Values(torch.fx.Interpreter):  # type: ignore[misc]  # torch leaves it untyped
    """Every result that a program computes."""

    def __init__(self, program: Any) -> None:
        super().__init__(program)
        self._results: dict[Any, list[Any]] = {}

    def of(self, args: Any, kwargs: Any, draw: int) -> _Values:
        seed(_SEED + draw)
        self.run(*args, *kwargs.values())
        self._add((args, kwargs))
        return self

    def run_node(self, node: Any) -> Any:
        result = super().run_node(node)
        self._add(result)
        schema = getattr(node.target, "_schema", None)
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


@dataclass(frozen=True)
class _Step:
    """A call of a torch function: its result as it was then, and the memory that it reads and writes."""

    name: str
    result: torch.Tensor
    reads: frozenset[int]
    writes: frozenset[int]
    frames: tuple[Frame, ...]


def _steps(loaded: Loaded, draw: int) -> list[_Step]:
    """What eager computes on the way to its outputs, in its order."""
    model = loaded.eager()
    args, kwargs = inputs_of(loaded, draw)
    seed(_SEED + draw)
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
        self.steps: list[_Step] = []
        self._held: list[Any] = []  # memory that is given back is soon another tensor's
        self._bytes = 0

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        given = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        made = [leaf for leaf in pytree.tree_leaves(found) if isinstance(leaf, torch.Tensor)]
        name = getattr(func, "__name__", "")
        written = given[:1] if name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) else []
        if self._bytes < _MOST_BYTES and name != "__get__":
            self._note(name, [*written, *made], given)
        self._held.append((found, given))
        return found

    def _note(self, name: str, results: list[torch.Tensor], given: list[torch.Tensor]) -> None:
        reads = frozenset(map(_memory, given))
        for result in results:
            self._bytes += result.numel() * result.element_size()
            frames = summary_frames(traceback.extract_stack(sys._getframe(2)))  # noqa: SLF001 - the documented way
            self.steps.append(_Step(name, result.detach().clone(), reads, frozenset([_memory(result)]), frames))


def _memory(tensor: torch.Tensor) -> int:
    """The same for a tensor and its views."""
    try:
        return tensor.untyped_storage().data_ptr() or id(tensor)
    except Exception:  # noqa: BLE001 - exotic tensors have none
        return id(tensor)
