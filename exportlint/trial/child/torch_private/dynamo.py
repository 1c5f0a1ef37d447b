"""Dynamo: its settings, its log of graph breaks, and what it leaves on models and functions that it has compiled."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import traceback
from typing import TYPE_CHECKING, Any

import torch
from torch._logging import structured

from exportlint.trial.protocol.frames import Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def reset() -> None:
    """Forget what was compiled."""
    torch._dynamo.reset()


def explain(model: Any) -> Any:
    """torch._dynamo.explain, which is called with the inputs."""
    return torch._dynamo.explain(model)


_LOG_METHODS = ("debug", "info", "warning", "warn", "error", "critical", "exception", "log")


def leave_guards_untimed() -> None:
    """From now on Dynamo does not time the guards of what it compiles: that is for a log that nobody reads here, and
    takes a twentieth of a second each time, since the processor's cache is filled with other memory before."""
    if hasattr(guards := torch._dynamo.guards, "profile_guard_manager"):
        guards.profile_guard_manager = lambda *_: 0.0


def find_vector_instructions() -> None:
    """Which of them the compiler of this machine knows, inductor finds out once in a process, by compiling and loading
    something for each, which takes seconds; what it compiles for that, it keeps in its present folder."""
    with contextlib.suppress(ImportError, AttributeError):
        from torch._inductor.cpu_vec_isa import pick_vec_isa  # noqa: PLC0415 - takes long, and not in every version

        pick_vec_isa()


def as_in_export() -> Any:
    """A block in which Dynamo has the settings with which strict export runs it."""
    config: dict[str, Any] = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    with contextlib.suppress(ImportError):
        from torch.export._trace import DEFAULT_EXPORT_DYNAMO_CONFIG  # noqa: PLC0415 - not in every version

        config |= dataclasses.asdict(DEFAULT_EXPORT_DYNAMO_CONFIG)
    # Strict export leaves out what only prints or logs; outside of an export Dynamo does so with what is named here.
    logs = {getattr(logging.Logger, name) for name in _LOG_METHODS}
    if hasattr(torch._dynamo.config, "ignore_logging_functions"):
        config["ignore_logging_functions"] = {*config.get("reorderable_logging_functions", ()), *logs}
        config["reorderable_logging_functions"] = set()
    else:  # an earlier version, which ignores loggers only
        config["ignore_logger_methods"] = logs
    known = {name: value for name, value in config.items() if hasattr(torch._dynamo.config, name)}
    return torch._dynamo.config.patch(**known)


# `explain` lists only part of the breaks it meets, at its end; these logs of Dynamo have all of them, with their place:
# one the breaks, the other the functions that it leaves to Python as a whole.
_BREAKS = "torch._dynamo.symbolic_convert.__graph_breaks"
_LEFT_FUNCTIONS = "torch._dynamo.convert_frame.__graph_breaks"


@contextlib.contextmanager
def graph_breaks_logged(tell: Callable[[str], None]) -> Iterator[None]:
    """Tell the text of every entry that Dynamo logs of a graph break inside of the block."""
    torch._logging.set_logs(graph_breaks=True)
    handler, loggers = _Telling(tell), [logging.getLogger(name) for name in (_BREAKS, _LEFT_FUNCTIONS)]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
        torch._logging.set_logs()


class _Telling(logging.Handler):
    def __init__(self, tell: Callable[[str], None]) -> None:
        super().__init__(level=0)
        self._tell = tell

    def emit(self, entry: logging.LogRecord) -> None:
        text = entry.getMessage()
        if entry.exc_info and entry.exc_info[1]:  # why a function is left stands there alone
            text = "\n".join((text, *traceback.format_exception(entry.exc_info[1])))
        self._tell(text)


@contextlib.contextmanager
def _left_functions_traced() -> Iterator[None]:
    """A block in which the structured trace has an entry for each function that is left to Python. Torch up to 2.10
    makes none for most of them unless this logger is on; what it says stays away from the user's screen."""
    logger = logging.getLogger(_LEFT_FUNCTIONS)
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    try:
        yield
    finally:
        logger.setLevel(level)
        logger.propagate = propagate


# The structured trace, which `TORCH_TRACE` writes to a file: all that Dynamo does, as data.


_TRACE = "torch.__trace"
_OF_FRAME = ("frame_id", "frame_compile_id")


@dataclasses.dataclass(frozen=True)
class TraceEntry:
    """One entry of the structured trace.

    name        what it is about, such as compilation_metrics; of an artifact the name of that
    compile_id  the number of the frame and how often that was compiled before, as "0/1"; None outside of one
    """

    name: str
    compile_id: str | None
    data: Any
    payload: str


@contextlib.contextmanager
def structured_trace(tell: Callable[[TraceEntry], None]) -> Iterator[None]:
    """Tell every entry of Dynamo's structured trace inside of the block."""
    handler, logger = _TellingEntries(tell), logging.getLogger(_TRACE)
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        with _left_functions_traced():
            yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


class _TellingEntries(logging.Handler):
    def __init__(self, tell: Callable[[TraceEntry], None]) -> None:
        super().__init__(level=0)
        self._tell = tell

    def emit(self, entry: logging.LogRecord) -> None:
        metadata = getattr(entry, "metadata", None)
        if not isinstance(metadata, dict):
            return
        name = next(iter(metadata), "")  # the entry's own name is written first
        data = metadata.get(name)
        if name == "artifact" and isinstance(data, dict):
            name = str(data.get("name"))
        frame = [metadata.get(key) for key in _OF_FRAME]
        compile_id = None if None in frame else "/".join(map(str, frame))
        self._tell(TraceEntry(name, compile_id, data, str(getattr(entry, "payload", None) or "")))


def trace_frames(stack: Any) -> tuple[Frame, ...]:
    """The frames of a stack in the data of an entry, outermost first; names of files are numbers there."""
    files = {number: name for name, number in structured.INTERN_TABLE.items()}
    return tuple(
        Frame(
            files.get(one.get("filename"), ""),
            int(one.get("line") or 0),
            str(one.get("name")),
            str(one.get("loc") or ""),
        )
        for one in stack or ()
    )


@contextlib.contextmanager
def with_settings(**settings: Any) -> Iterator[None]:
    """A block in which Dynamo has these settings, those that this version knows."""
    known = {name: value for name, value in settings.items() if hasattr(torch._dynamo.config, name)}
    with torch._dynamo.config.patch(**known):
        yield


def recompile_limit() -> int:
    """How often Dynamo compiles a function before it leaves it to Python."""
    config = torch._dynamo.config
    name = "recompile_limit" if hasattr(config, "recompile_limit") else "cache_size_limit"
    return int(getattr(config, name))


# What torch.compile calls from the code that it rewrites.
CALLED_IN_COMPILED = ("__compiled_fn", "__resume_at")


def uncompiled(model: Any) -> Any:
    """The module behind a wrapper of torch.compile, or behind its own call."""
    if isinstance(model, torch.nn.Module) and "_orig_mod" in vars(model).get("_modules", {}):
        return model._orig_mod
    owner, name = getattr(model, "__self__", None), getattr(model, "__name__", "")
    is_call = name in ("_call_impl", "_wrapped_call_impl", "__call__")
    return owner if is_call and isinstance(owner, torch.nn.Module) else model


def uncompiled_function(call: Any) -> Any:
    """The function that torch.compile was given."""
    return getattr(call, "_torchdynamo_orig_callable", call)


def called_one_further_away(kwargs: dict[str, Any]) -> None:
    """Tell torch.jit.script, which reads names off its caller's frame, that this is one further away."""
    kwargs["_frames_up"] = kwargs.get("_frames_up", 0) + 1


_FLAGS = ("_is_exporting_flag", "_is_compiling_flag")  # what `is_exporting()` and `is_compiling()` give; by version


@contextlib.contextmanager
def as_if_exporting() -> Iterator[None]:
    """Inside of the block torch says that it exports, and does not."""
    kept = {name: getattr(torch.compiler, name) for name in _FLAGS if hasattr(torch.compiler, name)}
    for name in kept:
        setattr(torch.compiler, name, True)
    try:
        yield
    finally:
        for name, value in kept.items():
            setattr(torch.compiler, name, value)
