"""How the process of a stage ended becomes the stage's result. Runs in the parent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.observation import Observation, placed
from exportlint.trial.report import StageResult
from exportlint.trial.stacks import last_stack

if TYPE_CHECKING:
    from exportlint.trial.server import Answered


def result_of(name: str, answered: Answered) -> StageResult:
    """What a stage's process told, or how it ended without telling."""
    final = answered.final
    if final is None:
        return died(name, answered)
    data = dict(final.get("data") or {}) | _exported(answered)
    seen, detail = answered.observations, final["detail"]
    if final["status"] == "crashed" and not any(one.kind == "exception" for one in seen):
        ended = _ending(detail, "crashed", answered)
        seen, detail = (*seen, ended), detail + _where(ended)
    return StageResult(name, final["status"], answered.seconds, detail, seen, data)


def died(name: str, answered: Answered) -> StageResult:
    """Crashed or timed out, at the line that the process's last stack names."""
    status = answered.overrun.status if answered.overrun else "crashed"
    text = answered.overrun.text if answered.overrun else answered.ended
    seen = _ending(text, status, answered)
    told = (*answered.observations, seen)
    return StageResult(name, status, answered.seconds, one_line(text + _where(seen)), told, _exported(answered))


def gone(name: str) -> StageResult:
    """Nobody was there to run the stage."""
    return StageResult(name, "crashed", detail="the target's process is gone")


def one_line(text: str) -> str:
    return " ".join(text.split())[:200]


def _exported(answered: Answered) -> dict[str, Any]:
    """What a stage told of its export before it ended."""
    return {key: value for message in answered.messages if "exported" in message for key, value in message.items()}


def _ending(text: str, status: str, answered: Answered) -> Observation:
    details = {"ended": status, "output": answered.output[-2000:]}
    return placed("exception", text, last_stack(answered.stack), error_class=None, details=details)


def _where(seen: Observation) -> str:
    return f" at {Path(seen.user_path).name}:{seen.user_line}" if seen.user_path else ""
