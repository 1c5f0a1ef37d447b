"""List every break of the graph that Dynamo meets, each place once."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import re
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.inputs.input_sets import inputs_of
from exportlint.trial.protocol.frames import Frame, message_frames, summary_frames
from exportlint.trial.protocol.observation import Observation, graph_break_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from exportlint.trial.child.execution.request import StageRequest


# `explain` lists only part of the breaks it meets, at its end; this log of Dynamo has all of them, with their place.
_LOGGER = "torch._dynamo.symbolic_convert.__graph_breaks"
_LOGGED = re.compile(
    r"in user code at (?P<path>.+):(?P<line>\d+)\n(?:Graph Break )?Reason: (?P<reason>.*?)"
    r"(?=\nStack variable source attribution:|\nUser code traceback:|\nTraceback |\Z)",
    re.DOTALL,
)
_STACK = "\nUser code traceback:\n"
_ATTEMPT = re.compile(r"\AEncountered graph break when attempting to trace [^\n]*\n+")


def tell_graph_breaks(request: StageRequest, tell: Callable[[Observation], None]) -> None:
    """Tell every break that Dynamo meets as it meets it, each place once."""
    model = request.loaded.model()
    args, kwargs = inputs_of(request.loaded, 0)
    known: set[tuple[str, int] | None] = set()

    def once(seen: Observation) -> None:
        place = seen.user or (seen.frames[-1] if seen.frames else None)
        key = (place.path, place.line) if place else None
        if key not in known:
            known.add(key)
            tell(seen)

    with _logged(once):
        explained = torch._dynamo.explain(model)(*args, **kwargs)  # noqa: SLF001 - its public name is torch._dynamo.explain
    for one in explained.break_reasons:
        if one.graph_break:
            once(_break(str(one.reason), summary_frames(one.user_stack)))


class _Breaks(logging.Handler):
    def __init__(self, tell: Callable[[Observation], None]) -> None:
        super().__init__(level=0)
        self._tell = tell

    def emit(self, entry: logging.LogRecord) -> None:
        text = entry.getMessage()
        if found := _LOGGED.search(text):
            place = Frame(found["path"], int(found["line"]), "", "")
            stack = message_frames(text.partition(_STACK)[2])
            inner = [frame for frame in stack if frame[:2] == place[:2]]
            reason = _ATTEMPT.sub("", found["reason"]).strip()
            self._tell(_break(reason, stack[: stack.index(inner[-1]) + 1] if inner else [place]))


@contextlib.contextmanager
def _logged(tell: Callable[[Observation], None]) -> Iterator[None]:
    torch._logging.set_logs(graph_breaks=True)  # noqa: SLF001 - documented as torch._logging.set_logs
    handler, logger = _Breaks(tell), logging.getLogger(_LOGGER)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        torch._logging.set_logs()  # noqa: SLF001 - as above


def _break(reason: str, frames: Any) -> Observation:
    return Observation("graph-break", reason[:5000], gb_id=graph_break_id(reason)).at(frames)


def as_in_export() -> dict[str, Any]:
    """The settings of Dynamo with which strict export runs it."""
    config: dict[str, Any] = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    with contextlib.suppress(ImportError):
        from torch.export._trace import DEFAULT_EXPORT_DYNAMO_CONFIG  # noqa: PLC0415 - not in every version

        config |= dataclasses.asdict(DEFAULT_EXPORT_DYNAMO_CONFIG)
    return {name: value for name, value in config.items() if hasattr(torch._dynamo.config, name)}  # noqa: SLF001 - documented as torch._dynamo.config
