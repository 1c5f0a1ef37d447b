"""Make a stage's result of what its process sent and of the way in which it ended."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.parent.stack_dumps import last_stack
from exportlint.trial.protocol.observation import Observation
from exportlint.trial.protocol.outcomes import CRASHED
from exportlint.trial.protocol.result import StageResult

if TYPE_CHECKING:
    from exportlint.trial.parent.connection import Reply


_LAST_WORDS = 2000  # characters


def result_of(name: str, reply: Reply) -> StageResult:
    """The result that a stage's process sent, or one that describes how it ended without sending any."""
    final = reply.final
    if final is None:
        return died(name, reply)
    data = dict(final.get("data") or {}) | _exported(reply)
    observations, detail = reply.observations, final["detail"] and " ".join(final["detail"].split())
    if final["status"] == CRASHED and not any(one.kind == "exception" for one in observations):
        ended = _end_of_process(detail, CRASHED, reply)
        observations, detail = (*observations, ended), detail + _where(ended)
    return StageResult(name, final["status"], reply.seconds, detail, observations, data)


def died(name: str, reply: Reply) -> StageResult:
    """Crashed or timed out, at the line that the process's last stack names."""
    status = reply.overrun.status if reply.overrun else CRASHED
    ended = _end_of_process(reply.end_in_words(), status, reply)
    detail = one_line(reply.end_in_words() + _where(ended))
    return StageResult(name, status, reply.seconds, detail, (*reply.observations, ended), _exported(reply))


def process_missing(name: str) -> StageResult:
    """The result of a stage for which there is no process to run it."""
    return StageResult(name, CRASHED, detail="the target's process is gone")


def one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _exported(reply: Reply) -> dict[str, Any]:
    """What a stage reported of its export before it ended."""
    return {key: value for message in reply.messages if "exported" in message for key, value in message.items()}


def _end_of_process(text: str, status: str, reply: Reply) -> Observation:
    details = {"ended": status, "output": reply.output[-_LAST_WORDS:]}
    return Observation("exception", text, details=details).at(last_stack(reply.stack))


def _where(seen: Observation) -> str:
    return f" at {Path(seen.user_path).name}:{seen.user_line}" if seen.user_path else ""
