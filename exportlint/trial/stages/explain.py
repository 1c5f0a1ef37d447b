"""explain: where torch.compile would break the graph. Information: export fails on a different set of programs."""

from __future__ import annotations

import contextlib
import logging
import re
from typing import TYPE_CHECKING, Any

import torch

from exportlint.trial.calls import inputs_of
from exportlint.trial.observation import Frame, Observation, graph_break_id, of_exception, placed, summary_frames
from exportlint.trial.stage import PASSED, REFUSED, Answer, Request, short

if TYPE_CHECKING:
    from collections.abc import Iterator

# `explain` lists only part of the breaks it meets; this log of Dynamo has all of them, with their place.
_LOGGER = "torch._dynamo.symbolic_convert.__graph_breaks"
_LOGGED = re.compile(
    r"in user code at (?P<path>.+):(?P<line>\d+)\n(?:Graph Break )?Reason: (?P<reason>.*?)"
    r"(?=\nStack variable source attribution:|\nUser code traceback:|\nTraceback |\Z)",
    re.DOTALL,
)
_ATTEMPT = re.compile(r"\AEncountered graph break when attempting to trace [^\n]*\n+")


def run(request: Request) -> Answer:
    """Each break once, at its line."""
    try:
        breaks = breaks_of(request)
    except BaseException as exc:  # noqa: BLE001 - torch lets anything through
        seen = of_exception(exc)
        request.emit(seen)
        return Answer(REFUSED, short(f"{seen.error_class}: {seen.first_line}"))
    for seen in breaks:
        request.emit(seen)
    return Answer(PASSED, f"{len(breaks)} graph breaks" if len(breaks) != 1 else "1 graph break")


def breaks_of(request: Request) -> list[Observation]:
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
    return placed("graph-break", reason[:5000], frames, gb_id=graph_break_id(reason))


def _once(breaks: list[Observation]) -> list[Observation]:
    """The log comes first and says more, so it wins."""
    first: dict[tuple[str | None, int | None], Observation] = {}
    for seen in breaks:
        first.setdefault((seen.user_path or seen.path, seen.user_line or seen.line), seen)
    return list(first.values())
