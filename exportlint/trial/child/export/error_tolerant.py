"""Export in non-strict mode past torch's refusals: where torch refuses a call, the trace goes on with eager's result.

So one trace meets the further refusals that it reaches.
"""

from __future__ import annotations

import sys
import traceback
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode

from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.child.export.export_call import Exported
from exportlint.trial.child.loading.seeding import seed
from exportlint.trial.child.torch_private import pytree
from exportlint.trial.child.torch_private.tensors import OF_A_TRACE
from exportlint.trial.protocol.frames import summary_frames
from exportlint.trial.protocol.observation import Observation, of_exception
from exportlint.trial.protocol.torch_messages import lost_a_tensor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import FrameType

    from exportlint.trial.child.loading.loaded import Loaded

# Record what each call of a torch function gave, by the place of the call.


# File, line, what is called there, and how many such calls the line made before.
CallPlace = tuple[str, int, str, int]
# Results are copies, since eager may write into its tensors later; of a large model's not all can be kept.
_MOST_BYTES = 512 << 20
# They make a tensor in C++, of which the tracer learns nothing; a later operation on it is traced (measured with 2.13:
# `x.data.new(2)` exports, `x.data.new_zeros(2)` and `torch.zeros_like(x.data)` are refused).
_LEGACY_CONSTRUCTORS = frozenset({"new", "new_tensor"})


class NumberedCalls(TorchFunctionMode):  # type: ignore[misc]  # torch leaves it untyped
    """Numbers the calls of torch functions by their place: so two runs of the same code can be put side by side."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, int, str], int] = {}

    def place(self, func: Any) -> CallPlace:
        frame = _caller(sys._getframe(2))  # noqa: SLF001 - the documented way
        path, line = (frame.f_code.co_filename, frame.f_lineno) if frame else ("", 0)
        made_at = (path, line, _name(func))
        self._made[made_at] = number = self._made.get(made_at, -1) + 1
        return (*made_at, number)


def _name(func: Any) -> str:
    """Of a property, its own name, not `__get__`."""
    name: str = getattr(func, "__name__", str(func))
    return f"{func.__self__.__name__}.{name}" if name in ("__get__", "__set__") else name


def _caller(frame: FrameType | None) -> FrameType | None:
    """The innermost frame outside torch."""
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("torch", "exportlint"):
        frame = frame.f_back
    return frame


class EagerResults(NumberedCalls):
    """Keeps what each call gave, as copies."""

    def __init__(self) -> None:
        super().__init__()
        self.results: dict[CallPlace, Any] = {}
        self._bytes = 0

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        place = self.place(func)
        result = func(*args, **(kwargs or {}))
        if self._bytes < _MOST_BYTES:
            self.results[place] = pytree.tree_map_only(torch.Tensor, self._copy, result)
        return result

    def _copy(self, tensor: torch.Tensor) -> Any:
        self._bytes += tensor.numel() * tensor.element_size()
        return tensor.detach().clone()


@dataclass
class TolerantExport:
    """What an export past refusals met: each refusal at its line, and the program where the trace came to its end."""

    refusals: list[Observation] = field(default_factory=list)
    exported: Exported | None = None


def tolerant_export(loaded: Loaded, results: Mapping[CallPlace, Any], number: int = 0) -> TolerantExport:
    """Export past refusals, with `results` of eager in their place; `number` seeds the randomness during the trace."""
    tracer = _TolerantTracer(results)
    exported = _export(loaded, number, tracer)
    if exported is None and tracer.data_reads and _lost_data(tracer.refusals[-1]):
        # Torch finds the tensor that `.data` hid only when the trace is over, and names no line. A trace that reads
        # through `.detach()` instead shows that this was it, and what else there is.
        end = tracer.refusals[-1]
        tracer = _TolerantTracer(results, detach=True)
        exported = _export(loaded, number, tracer)
        lost = Observation(end.kind, end.text, end.error_class)
        tracer.refusals += [lost.at(frames) for frames in tracer.data_reads.values()] or [end]
    return TolerantExport(tracer.refusals, exported)


def with_fixed_sizes(loaded: Loaded, results: Mapping[CallPlace, Any], number: int = 0) -> Exported | None:
    """Export past refusals with every dimension constant, for a target that breaks what it declares of them."""
    return _export(loaded, number, _TolerantTracer(results, detach=True), shapes=False)


def swallowed_refusal(loaded: Loaded) -> Observation | None:
    """The first of torch's refusals that the model's own code caught, so that the export passed all the same."""
    tracer = _TolerantTracer(eager_results(loaded), forgiving=False)
    exported = _export(loaded, 0, tracer)
    return tracer.refusals[0] if exported is not None and tracer.refusals else None


def eager_results(loaded: Loaded) -> Mapping[CallPlace, Any]:
    """What eager gives, call by call, on the sample."""
    model = loaded.eager()
    args, kwargs = inputs_of(loaded, 0)
    seed(0)
    kept = EagerResults()
    # Eager `torch.cond` compiles, and that fails under a mode: what was asked until then counts.
    with kept, suppress(Exception):
        model(*args, **kwargs)
    return kept.results


def _export(loaded: Loaded, number: int, tracer: _TolerantTracer, *, shapes: bool = True) -> Exported | None:
    model = loaded.model()
    args, kwargs = inputs_of(loaded, 0)
    dynamic = loaded.dynamic_shapes() if shapes else None
    seed(number)
    try:
        with tracer.inside(model):
            program = torch.export.export(model, args, kwargs or None, dynamic_shapes=dynamic, strict=False)
    except BaseException as exc:  # noqa: BLE001 - torch lets anything through
        tracer.refusals.append(of_exception(exc))
        return None
    return Exported(model, program)


def _lost_data(seen: Observation) -> bool:
    return lost_a_tensor(seen.text) and seen.user is None


class _TolerantTracer(NumberedCalls):
    """Notes what torch refuses, and goes on with eager's result.

    refusals    each with the stack of the model's code
    data_reads  line -> the stack of a read through `.data` that an operation or the output uses, or of a write
    """

    def __init__(self, results: Mapping[CallPlace, Any], *, detach: bool = False, forgiving: bool = True) -> None:
        super().__init__()
        self._results = results
        self._detach = detach
        self._forgiving = forgiving
        self._depth = 0
        self._values: dict[Any, Any] = {}  # symbol of a data-dependent number -> what it was in eager
        self._stand_ins: set[int] = set()
        self._held: list[Any] = []  # an id is given anew once its object is gone
        self.refusals: list[Observation] = []
        self._data: dict[int, Observation] = {}  # what a read through `.data` gave, by its id -> where
        self.data_reads: dict[tuple[str | None, int | None], Any] = {}

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        place = self.place(func)
        is_data = getattr(func, "__self__", None) is torch.Tensor.data  # `x.data`, and `x.data = y`
        if is_data and self._detach and len(args) == 1:
            func = torch.Tensor.detach
        self._depth += 1
        try:
            found = func(*args, **(kwargs or {}))
        except Exception as exc:
            if place not in self._results:
                raise
            if not any(id(leaf) in self._stand_ins for leaf in pytree.tree_leaves((args, kwargs))):
                self._note_refusal(exc)
            if not self._forgiving:
                raise
            return self._stand_in(self._results[place])
        finally:
            self._depth -= 1
        if is_data:
            self._note_data(found)
        elif self._data and _name(func) not in _LEGACY_CONSTRUCTORS and _has_tensor(found):
            self._note_data_used((args, kwargs))
        self._learn(found, self._results.get(place))
        return found

    @contextmanager
    def inside(self, model: Any) -> Iterator[None]:
        """Watch the model's forward, and what Python asks of a symbolic number while it runs."""
        forward = model.forward

        @wraps(forward)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self:
                found = forward(*args, **kwargs)
            self._note_data_used(found)
            return found

        with ExitStack() as patches:
            patches.enter_context(patch.object(model, "forward", watched))
            # Methods of their own: no mode hears of them.
            for cls in OF_A_TRACE:
                if tolist := vars(cls).get("tolist"):
                    patches.enter_context(patch.object(cls, "tolist", self._noting(tolist)))
            for cls, name in _ASKED:
                if asked := getattr(cls, name, None):
                    patches.enter_context(patch.object(cls, name, self._asking(asked)))
            yield

    def _noting(self, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda tensor: self.__torch_function__(method, (), (tensor,))

    def _asking(self, asked: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """`if n > 3`, `range(n)` of a number that is data: torch raises in Python, not in a torch function."""

        def answer(number: Any) -> Any:
            try:
                return asked(number)
            except Exception as exc:
                known = number.node.expr.xreplace(self._values)
                if self._depth or getattr(known, "free_symbols", None):
                    raise
                self._note_refusal(exc)
                return _ASKED_FOR[asked.__name__](known)

        return answer

    def _note_refusal(self, exc: Exception) -> None:
        # The exception was caught on its way: what called the function stands in no traceback of it.
        outer = summary_frames(traceback.extract_stack(sys._getframe(2)))  # noqa: SLF001 - the documented way
        self.refusals.append(of_exception(exc).at(outer))

    def _note_data(self, found: Any) -> None:
        frames = summary_frames(traceback.extract_stack(sys._getframe(2)))  # noqa: SLF001 - as above
        seen = Observation("note").at(frames)
        if found is None:  # a write
            self.data_reads[seen.user_path, seen.user_line] = seen.frames
        else:
            self._data[id(found)] = seen
            self._held.append(found)

    def _note_data_used(self, given: Any) -> None:
        for leaf in pytree.tree_leaves(given):
            if seen := self._data.pop(id(leaf), None):
                self.data_reads[seen.user_path, seen.user_line] = seen.frames

    def _stand_in(self, result: Any) -> Any:
        for leaf in pytree.tree_leaves(result):
            if isinstance(leaf, torch.Tensor):
                self._stand_ins.add(id(leaf))
        self._held.append(result)
        return result

    def _learn(self, found: Any, result: Any) -> None:
        """Remember which number of eager a symbol of the trace stands for."""
        if isinstance(found, (torch.SymInt, torch.SymFloat)) and isinstance(result, (int, float)):
            if getattr(found.node.expr, "is_Symbol", False):
                self._values.setdefault(found.node.expr, found.node.expr * 0 + result)
        elif isinstance(found, torch.Tensor) and isinstance(result, torch.Tensor) and found.ndim == result.ndim:
            self._learn(list(found.shape), list(result.shape))
        elif isinstance(found, (list, tuple)) and isinstance(result, (list, tuple)):
            for one, other in zip(found, result, strict=False):
                self._learn(one, other)


def _has_tensor(value: Any) -> bool:
    """What has none is a shape, a dtype or a number, which hides no values."""
    return any(isinstance(leaf, torch.Tensor) for leaf in pytree.tree_leaves(value))


_ASKED_FOR: dict[str, Callable[[Any], Any]] = {
    "__bool__": bool,
    "__int__": int,
    "__index__": int,
    "__float__": float,
    "__hash__": lambda n: hash(int(n)),
}
_ASKED = [
    (cls, name) for cls in (torch.SymBool, torch.SymInt, torch.SymFloat) for name in _ASKED_FOR if name in vars(cls)
]
