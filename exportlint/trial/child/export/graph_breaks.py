"""List every break of the graph that Dynamo meets, each place once."""

from __future__ import annotations

import contextlib
import dataclasses
import logging
import re
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.child.execution.input_sets import inputs_of
from exportlint.trial.protocol.exceptions import graph_break_id
from exportlint.trial.protocol.frames import Frame, summary_frames
from exportlint.trial.protocol.observation import Observation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from exportlint.trial.child.execution.request import StageRequest


# `explain` lists only part of the breaks it meets; this log of Dynamo has all of them, with their place.
_LOGGER = "torch._dynamo.symbolic_convert.__graph_breaks"
_LOGGED = re.compile(
    r"in user code at (?P<path>.+):(?P<line>\d+)\n(?:Graph Break )?Reason: (?P<reason>.*?)"
    r"(?=\nStack variable source attribution:|\nUser code traceback:|\nTraceback |\Z)",
    re.DOTALL,
)
_ATTEMPT = re.compile(r"\AEncountered graph break when attempting to trace [^\n]*\n+")


def graph_breaks(request: StageRequest) -> list[Observation]:
    """Every break that Dynamo meets, each place once."""
    model = request.loaded.model()
    args, kwargs = inputs_of(request.loaded, 0)
    with _logged() as texts:
        explained = torch._dynamo.explain(model)(*args, **kwargs)  # noqa: SLF001 - its public name is torch._dynamo.explain
    return _once([*_from_log(texts), *_from_reasons(explained.break_reasons)])


class _Texts(logging.Handler):
    def __init__(self) -> None:
        super().__init__(level=0)
        self.texts: list[str] = []

    def emit(self, entry: logging.LogRecord) -> None:
        self.texts.append(entry.getMessage())


@contextlib.contextmanager
def _logged() -> Iterator[list[str]]:
    torch._logging.set_logs(graph_breaks=True)  # noqa: SLF001 - documented as torch._logging.set_logs
    handler, logger = _Texts(), logging.getLogger(_LOGGER)
    logger.addHandler(handler)
    try:
        yield handler.texts
    finally:
        logger.removeHandler(handler)
        torch._logging.set_logs()  # noqa: SLF001 - as above


def _from_log(texts: list[str]) -> Iterator[Observation]:
    for text in texts:
        if found := _LOGGED.search(text):
            reason = _ATTEMPT.sub("", found["reason"]).strip()
            yield _break(reason, [Frame(found["path"], int(found["line"]), "", "")])


def _from_reasons(reasons: list[Any]) -> Iterator[Observation]:
    for one in reasons:
        if one.graph_break:
            yield _break(str(one.reason), summary_frames(one.user_stack))


def _break(reason: str, frames: Any) -> Observation:
    return Observation("graph-break", reason[:5000], gb_id=graph_break_id(reason)).at(frames)


def _once(breaks: list[Observation]) -> list[Observation]:
    """Each place once. The log comes first and holds more, so its break is kept."""
    first: dict[tuple[str, int] | None, Observation] = {}
    for seen in breaks:
        place = seen.user or (seen.frames[-1] if seen.frames else None)
        first.setdefault((place.path, place.line) if place else None, seen)
    return list(first.values())


def as_in_export() -> dict[str, Any]:
    """The settings of Dynamo with which strict export runs it."""
    config: dict[str, Any] = {"capture_scalar_outputs": True, "capture_dynamic_output_shape_ops": True}
    with contextlib.suppress(ImportError):
        from torch.export._trace import DEFAULT_EXPORT_DYNAMO_CONFIG  # noqa: PLC0415 - not in every version

        config |= dataclasses.asdict(DEFAULT_EXPORT_DYNAMO_CONFIG)
    return {name: value for name, value in config.items() if hasattr(torch._dynamo.config, name)}  # noqa: SLF001 - documented as torch._dynamo.config
