"""A non-strict export that goes on where torch refuses: what eager gave there stands in, so that one run meets every
refusal. Runs in the child."""

from __future__ import annotations

import sys
import traceback
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import wraps
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils import _pytree as pytree

from exportlint.trial.answers import Answers, Call, Calls
from exportlint.trial.calls import inputs_of
from exportlint.trial.exporting import Exported
from exportlint.trial.observation import Observation, of_exception, placed, summary_frames
from exportlint.trial.values import seed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from exportlint.trial.loading import Loaded


@dataclass
class Journey:
    """An export that went on: every refusal at its line, and the program where the trace came to its end."""

    refusals: list[Observation] = field(default_factory=list)
    exported: Exported | None = None


def go_on(loaded: Loaded, answers: Mapping[Call, Any], number: int = 0) -> Journey:
    """Export with eager's answers at hand; `number` seeds the randomness during the trace."""
    tracer = _Onward(answers)
    exported = _export(loaded, number, tracer)
    if exported is None and tracer.reads and _lost_data(tracer.refusals[-1]):
        # Torch finds the tensor that `.data` hid only when the trace is over, and names no line. A trace that reads
        # through `.detach()` instead shows that this was it, and what else there is.
        end = tracer.refusals[-1]
        tracer = _Onward(answers, detach=True)
        exported = _export(loaded, number, tracer)
        tracer.refusals += [
            placed(end.kind, end.text, seen.frames, error_class=end.error_class) for seen in tracer.reads.values()
        ]
    return Journey(tracer.refusals, exported)


def fixed_sizes(loaded: Loaded, answers: Mapping[Call, Any], number: int = 0) -> Exported | None:
    """The same with every dimension constant, for a target that breaks what it declares of them."""
    return _export(loaded, number, _Onward(answers, detach=True), shapes=False)


def swallowed(loaded: Loaded) -> Observation | None:
    """The first of torch's refusals that the model's own code caught, so that the export passed all the same."""
    tracer = _Onward(answers_of(loaded), forgiving=False)
    exported = _export(loaded, 0, tracer)
    return tracer.refusals[0] if exported is not None and tracer.refusals else None


def answers_of(loaded: Loaded) -> Mapping[Call, Any]:
    """What eager gives, call by call, on the sample."""
    model = loaded.eager()
    args, kwargs = inputs_of(loaded, 0)
    seed(0)
    kept = Answers()
    # Eager `torch.cond` compiles, and that fails under a mode: what was asked until then counts.
    with kept, suppress(Exception):
        model(*args, **kwargs)
    return kept.answers


def _export(loaded: Loaded, number: int, tracer: _Onward, *, shapes: bool = True) -> Exported | None:
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
    return "found a fake tensor in the exported program constant" in seen.text and seen.user_path is None


class _Onward(Calls):
    def __init__(self, answers: Mapping[Call, Any], *, detach: bool = False, forgiving: bool = True) -> None:
        super().__init__()
        self._answers = answers
        self._detach = detach
        self._forgiving = forgiving
        self._depth = 0
        self._values: dict[Any, Any] = {}  # symbol of a data-dependent number -> what it was in eager
        self._stand_ins: set[int] = set()
        self._held: list[Any] = []  # an id says nothing once its object is gone
        self.refusals: list[Observation] = []
        self.reads: dict[tuple[str | None, int | None], Observation] = {}

    def __torch_function__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
        call = self.call(func)
        if getattr(func, "__self__", None) is torch.Tensor.data:  # `x.data`, and `x.data = y`
            self._read()
            func = torch.Tensor.detach if self._detach and len(args) == 1 else func
        self._depth += 1
        try:
            found = func(*args, **(kwargs or {}))
        except Exception as exc:
            if call not in self._answers:
                raise
            if not any(id(leaf) in self._stand_ins for leaf in pytree.tree_leaves((args, kwargs))):
                self._refused(exc)
            if not self._forgiving:
                raise
            return self._stand_in(self._answers[call])
        finally:
            self._depth -= 1
        self._learn(found, self._answers.get(call))
        return found

    @contextmanager
    def inside(self, model: Any) -> Iterator[None]:
        """Watch the model's forward, and what Python asks of a symbolic number while it runs."""
        forward = model.forward

        @wraps(forward)
        def watched(*args: Any, **kwargs: Any) -> Any:
            with self:
                return forward(*args, **kwargs)

        with ExitStack() as patches:
            patches.enter_context(patch.object(model, "forward", watched))
            # Methods of their own: no mode hears of them.
            for cls in (FakeTensor, FunctionalTensor):
                if tolist := vars(cls).get("tolist"):
                    patches.enter_context(patch.object(cls, "tolist", self._hearing(tolist)))
            for cls, name in _ASKED:
                if asked := getattr(cls, name, None):
                    patches.enter_context(patch.object(cls, name, self._asking(asked)))
            yield

    def _hearing(self, method: Callable[[Any], Any]) -> Callable[[Any], Any]:
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
                self._refused(exc)
                return _ASKED_FOR[asked.__name__](known)

        return answer

    def _refused(self, exc: Exception) -> None:
        seen = of_exception(exc)
        # The exception was caught on its way: what called the function stands in no traceback of it.
        outer = summary_frames(traceback.extract_stack(sys._getframe(2)))  # noqa: SLF001 - the documented way
        self.refusals.append(
            placed(seen.kind, seen.text, outer, error_class=seen.error_class, gb_id=seen.gb_id, details=seen.details)
        )

    def _read(self) -> None:
        seen = placed("note", "", summary_frames(traceback.extract_stack(sys._getframe(2))))  # noqa: SLF001 - as above
        self.reads[seen.user_path, seen.user_line] = seen

    def _stand_in(self, answer: Any) -> Any:
        for leaf in pytree.tree_leaves(answer):
            if isinstance(leaf, torch.Tensor):
                self._stand_ins.add(id(leaf))
        self._held.append(answer)
        return answer

    def _learn(self, found: Any, answer: Any) -> None:
        """Which number of eager stands behind a symbol that the trace made."""
        if isinstance(found, (torch.SymInt, torch.SymFloat)) and isinstance(answer, (int, float)):
            if getattr(found.node.expr, "is_Symbol", False):
                self._values.setdefault(found.node.expr, found.node.expr * 0 + answer)
        elif isinstance(found, torch.Tensor) and isinstance(answer, torch.Tensor) and found.ndim == answer.ndim:
            self._learn(list(found.shape), list(answer.shape))
        elif isinstance(found, (list, tuple)) and isinstance(answer, (list, tuple)):
            for one, other in zip(found, answer, strict=False):
                self._learn(one, other)


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
