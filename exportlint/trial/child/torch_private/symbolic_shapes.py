"""Symbolic sizes: what torch decides about them while it exports, and the line that made it decide.

Torch's own record (`ShapeEnv.guards`) names a line of the model in strict mode only; the Python stack at the moment of
the decision has it in both. Only names that torch has had since 2.6 are watched; one that is gone costs the line only.
"""

from __future__ import annotations

import contextlib
import functools
import sys
import traceback
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch.fx.experimental import _config
from torch.fx.experimental.symbolic_shapes import ShapeEnv, free_unbacked_symbols
from torch.utils._sympy.functions import Mod

from exportlint.trial.protocol.frames import Frame, frame_at, is_user_path, message_frames, summary_frames

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


__all__ = [
    "Decision",
    "Mod",
    "ShapeDecisions",
    "keep_small_sizes_free",
    "python_text",
    "recorded_decisions",
    "symbols_of_data",
    "write_recurrent_layers_as_loops",
]


_OF_SCRIPTS = str(Path(__file__).parents[1] / "capture.py")


@dataclass(frozen=True)
class Decision:
    """`what`: "replaced" (a symbol, by a number or another symbol), "narrowed" (its range), "guard" (what must hold)"""

    what: str
    subject: Any
    frames: tuple[Frame, ...]


@dataclass
class ShapeDecisions:
    """The symbolic environments of the exports inside, and their decisions in order."""

    envs: list[Any] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    read_at: dict[str, tuple[Frame, ...]] = field(
        default_factory=dict
    )  # symbol of a number that is data -> who reads it

    def frames(self, what: str, subject: Any, *, last: bool = False) -> tuple[Frame, ...]:
        """Where something was decided first, or last; empty when no line of the model is known."""
        found = [d.frames for d in self.decisions if d.what == what and d.subject == subject and d.frames]
        return (found[-1] if last else found[0]) if found else ()


def keep_small_sizes_free() -> None:
    """From now on a size of 0 or 1 under a declared dim is no constant in this process: so torch.onnx.export calls
    torch.export since torch 2.7."""
    if hasattr(_config, "backed_size_oblivious"):
        _config.backed_size_oblivious = True


_until_the_end = contextlib.ExitStack()  # which nobody closes: what is entered lasts as long as the process


def write_recurrent_layers_as_loops() -> None:
    """From now on an LSTM or a GRU takes any number of steps in this process: so torch.onnx.export of torch 2.13 calls
    torch.export where dims are declared (`torch.onnx._internal.exporter._capture_strategies`)."""
    with contextlib.suppress(ImportError):
        from torch.export import _patches  # noqa: PLC0415 - older versions do not have it

        for name in ("register_lstm_while_loop_decomposition", "register_gru_while_loop_decomposition"):
            if register := getattr(_patches, name, None):
                _until_the_end.enter_context(register())


@contextlib.contextmanager
def recorded_decisions() -> Iterator[ShapeDecisions]:
    """Record every export inside."""
    decisions = ShapeDecisions()
    with contextlib.ExitStack() as undo:
        undo.enter_context(_watching("__init__", lambda env, *_: decisions.envs.append(env)))
        for name, what, place in (
            ("_set_replacement", "replaced", 0),
            ("_update_var_to_range", "narrowed", 0),
            ("_log_guard", "guard", 1),
        ):
            undo.enter_context(_watching(name, functools.partial(_decided, decisions, what, place)))
        for name in ("create_unbacked_symint", "create_unbacked_symfloat", "create_unbacked_symbool"):
            undo.enter_context(_watching(name, after=functools.partial(_noted_read, decisions)))
        yield decisions


def _decided(decisions: ShapeDecisions, what: str, place: int, _env: Any, *given: Any) -> None:
    if len(given) > place:
        decisions.decisions.append(Decision(what, given[place], _user_frames()))


def _noted_read(decisions: ShapeDecisions, made: Any) -> None:
    symbols = getattr(made.node.expr, "free_symbols", ())
    decisions.read_at |= {str(symbol): _user_frames() for symbol in symbols}


def _nothing(*_given: Any) -> None:
    pass


@contextlib.contextmanager
def _watching(
    name: str, see: Callable[..., None] = _nothing, after: Callable[[Any], None] = _nothing
) -> Iterator[None]:
    """Call `see` with the arguments of each call, and `after` with what it gave."""
    before = ShapeEnv.__dict__.get(name)
    if before is None:
        yield
        return

    @functools.wraps(before)
    def seen(env: Any, *args: Any, **kwargs: Any) -> Any:
        see(env, *args)
        made = before(env, *args, **kwargs)
        after(made)
        return made

    setattr(ShapeEnv, name, seen)
    try:
        yield
    finally:
        setattr(ShapeEnv, name, before)


def _user_frames() -> tuple[Frame, ...]:
    """Outermost first. Dynamo (strict) has a stack of its own; a graph that is run again quotes one; else Python's."""
    for stack in (_dynamos_stack(), message_frames(torch.fx.traceback.get_current_meta().get("stack_trace") or "")):
        if found := tuple(frame for frame in stack if is_user_path(frame.path)):
            return found
    # Inside of a script's call the outermost frames are the script's own, which decides no size.
    inside = takewhile(lambda one: one[0].f_code.co_filename != _OF_SCRIPTS, traceback.walk_stack(sys._getframe(1)))
    return tuple(
        frame_at(frame.f_code.co_filename, line, frame.f_code.co_name)
        for frame, line in reversed(list(inside))
        if is_user_path(frame.f_code.co_filename)
    )


def _dynamos_stack() -> tuple[Frame, ...]:
    try:
        return summary_frames(torch._guards.TracingContext.extract_stack())
    except (AttributeError, RuntimeError):
        return ()


def symbols_of_data(value: Any) -> set[str]:
    """The sizes of a value that are read from data, by their names."""
    with contextlib.suppress(Exception):
        return {str(symbol) for symbol in free_unbacked_symbols(value)}
    return set()


def python_text(expr: Any) -> str:
    """A condition as Python, as torch itself writes it. Raises what a torch raises that has no such text."""
    from torch.utils._sympy.printers import PythonPrinter  # noqa: PLC0415 - torch may move it

    return str(PythonPrinter().doprint(expr))
