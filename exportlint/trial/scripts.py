"""Scripts that are run for their targets: the run is a ladder of one step, and gives the targets to climb next."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from exportlint.trial.observation import Observation
from exportlint.trial.report import Event, StageResult, TargetReport, TrialOptions
from exportlint.trial.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from exportlint.trial.server import Answered, Server

_CALLS = "torch.export.export, torch.onnx.export, torch.jit.trace, torch.compile (and the compiled model)"


def run_script(
    server: Server, target: Target, options: TrialOptions, on_event: Callable[[Event], None]
) -> tuple[TargetReport, list[Target]]:
    """The script's own outcome, and what it handed to torch. Its targets' processes wait in the server."""
    from exportlint.trial.limits import Limits  # noqa: PLC0415 - psutil comes with the extra; `session` asks for it

    on_event(Event(target.name, "script", "running"))
    answered = server.script(target, Limits(options.timeout, options.memory_mb))
    found = _found(answered)
    stage = _stage(answered, found)
    on_event(Event(target.name, stage.name, stage.status, stage.seconds, stage.detail))
    broken = None if found else f"{stage.detail.partition(';')[0]}, and {_nothing(answered.messages)}"
    facts = server.facts["torch"]
    return TargetReport(target.name, target.path, 1, (stage,), {}, None, broken, facts, target), found


def _found(answered: Answered) -> list[Target]:
    """Each with every call that was given it, in the order of the script."""
    targets = {message["target"]["name"]: Target.from_dict(message["target"]) for message in answered.targets}
    for message in answered.messages:
        if target := targets.get(message.get("again", "")):
            calls = dict.fromkeys((*(target.given_to or "").split(", "), message["call"]))
            targets[target.name] = replace(target, given_to=", ".join(calls))
    return list(targets.values())


def _stage(answered: Answered, found: list[Target]) -> StageResult:
    ended = next((message["ended"] for message in answered.messages if "ended" in message), None)
    status, text = _outcome(answered, ended)
    gave = f"; gave {len(found)} {'target' if len(found) == 1 else 'targets'}" if found else ""
    left_out = sum(message.get("left_out", 0) for message in answered.messages)
    more = f", {left_out} more left out" if left_out else ""
    data = {"output": answered.output, "exit_code": ended["code"] if ended else None}
    return StageResult("script", status, answered.seconds, text + gave + more, (), data)


def _outcome(answered: Answered, ended: dict[str, Any] | None) -> tuple[str, str]:
    if answered.overrun:
        return answered.overrun.status, f"the script was {answered.overrun.text}"
    if ended is None:
        return "crashed", answered.ended.replace("the process", "the script")
    if "raised" in ended:
        seen = Observation.from_dict(ended["raised"])
        at = f" at {Path(seen.user_path).name}:{seen.user_line}" if seen.user_path else ""
        return "crashed", f"the script raised {seen.error_class}{at}: {seen.first_line[:150]}"
    return "crashed" if ended["code"] else "passed", f"the script ended with exit code {ended['code']}"


def _nothing(messages: list[dict[str, Any]]) -> str:
    """Why there is no target, and what to do."""
    never = [item for message in messages for item in message.get("never_called", ())]
    if never:
        where = ", ".join(f"{item['call']} in line {item['line']}" for item in never)
        return f"what it prepared was never called ({where}): call it once on example inputs"
    return (
        f"never called {_CALLS}: let it hand its model to one of these, declare `model` and `example_args` in it, "
        "or give --model and --args"
    )
